"""Settings of the linear solver."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, setting


@dataclass(frozen=True)
class SolverConfig(Config):
    """How the rankers of one cluster are trained; the defaults are those of XR-Linear."""

    loss: str = setting(
        "squared-hinge", "Loss of a ranker.", choices=("squared-hinge", "hinge", "logistic")
    )
    cost: float = setting(1.0, "Weight of the loss against the L2 penalty (C).", above=0)
    positive_weight: float = setting(1.0, "Factor on the cost of positives.", above=0)
    negative_weight: float = setting(1.0, "Factor on the cost of negatives.", above=0)
    bias: float = setting(1.0, "Value of the constant feature; 0 for none.", at_least=0)
    epsilon: float = setting(
        0.1, "A ranker is done when its projected gradients span less.", above=0
    )
    max_epochs: int = setting(100, "At most so many passes over a cluster's instances.", at_least=1)
    threshold: float = setting(0.1, "Weights up to this magnitude are dropped.", at_least=0)
    max_nonzeros: int | None = setting(
        None, "Keep at most so many weights per label, the largest.", at_least=1
    )
