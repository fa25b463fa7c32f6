"""Settings of the training loss: which terms there are, and the margin of each triplet."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, between, setting
from multitudes.errors import ConfigError


@dataclass(frozen=True)
class LossConfig(Config):
    """The terms of Eq. 5 and their margins; the defaults are PRIME's.

    `softmax_weights` is in the released code and not in the paper's equations; it is on by default.
    """

    kind: str = setting(
        "triplet",
        "Triplets of a positive and its hardest negatives, or a softmax over the batch (DPR).",
        choices=("triplet", "softmax"),
    )
    margin: str = setting(
        "dynamic",
        "Margin of a triplet: dynamic (clipped difference of similarities), fixed, or literal: "
        "Eq. 3 as printed, whose gradient is inverted in a region; training with it collapses.",
        choices=("dynamic", "fixed", "literal"),
    )
    gamma_min: float = setting(0.1, "Smallest dynamic margin.", at_least=0, at_most=2)
    gamma_max: float = setting(
        0.3, "Largest dynamic margin.", at_least=0, at_most=2, search=between(0.1, 0.6)
    )
    fixed_margin: float = setting(0.3, "Margin where it is fixed.", at_least=0, at_most=2)
    n_negatives: int = setting(
        100, "Hardest in-batch negatives of a row; fewer where a batch has fewer.", at_least=1
    )
    softmax_weights: bool = setting(
        True, "Weigh the violating negatives of a row by a softmax of their similarities."
    )
    temperature: float = setting(
        0.1, "Temperature of those weights.", above=0, search=between(0.02, 0.5, log=True)
    )
    detach_weights: bool = setting(
        False, "Keep the gradient out of those weights; the released code lets it through."
    )
    softmax_temperature: float = setting(
        0.05, "Temperature of the softmax over the batch (kind softmax).", above=0
    )
    query_to_prototype: bool = setting(True, "Term: instances find their labels' prototypes.")
    query_to_label: bool = setting(True, "Term: instances find their labels' texts.")
    label_to_query: bool = setting(True, "Term: labels' texts find their instances.")
    regularizer_weight: float = setting(
        0.1, "Weight of the term that wants prototypes to do better than texts.", at_least=0
    )
    regularizer_margin: float = setting(0.1, "By how much better.", at_least=0, at_most=2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma_min > self.gamma_max:
            raise ConfigError(
                f"LossConfig.gamma_min must be <= gamma_max ({self.gamma_max}), "
                f"got {self.gamma_min}: lower gamma_min or raise gamma_max"
            )
        if not (self.query_to_prototype or self.query_to_label or self.label_to_query):
            raise ConfigError(
                "LossConfig has no term: switch on query_to_prototype, query_to_label or "
                "label_to_query (the regularizer alone teaches nothing)"
            )
