"""How a network over bags is trained."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, setting


@dataclass(frozen=True)
class MIMLTraining(Config):
    """Epochs, steps, and when to stop."""

    n_epochs: int = setting(100, "Passes over the bags at most.", at_least=1)
    batch_size: int = setting(64, "Bags per step.", at_least=1)
    learning_rate: float = setting(1e-3, "Step size of Adam.", above=0, at_most=100)
    weight_decay: float = setting(0.0, "L2 penalty on all weights.", at_least=0)
    validation_fraction: float = setting(
        0.1,
        "Share of the bags held out for early stopping, unless validation bags are given; 0: none.",
        at_least=0,
        at_most=0.9,
    )
    patience: int = setting(10, "Epochs without improvement before training stops.", at_least=1)
    monitor: str = setting(
        "loss",
        "What must improve on the validation bags: their loss, or precision at 1.",
        choices=("loss", "precision"),
    )
