"""Settings of a training run, with the paper's defaults."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import setting_again
from multitudes.deep.training import TrainingConfig


@dataclass(frozen=True)
class Seq2SetTraining(TrainingConfig):
    """Section 3.4: Adam without decay, a cosine by epochs, gradients clipped at 8."""

    learning_rate: float = setting_again(TrainingConfig, "learning_rate", 1e-3)
    weight_decay: float = setting_again(TrainingConfig, "weight_decay", 0.0)
    warmup_steps: int = setting_again(TrainingConfig, "warmup_steps", 0)
    schedule: str = setting_again(TrainingConfig, "schedule", "cosine-epochs")
    clip: float | None = setting_again(TrainingConfig, "clip", 8.0)
