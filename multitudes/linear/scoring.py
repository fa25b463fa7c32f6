"""How a ranker's margin becomes a score, and how scores join along the path from the root."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from multitudes.errors import ConfigError
from multitudes.kernels.search.beam_search import HINGE, RAW, SIGMOID
from multitudes.types import FloatArray

SCORES = "'l3-hinge' (or l1, l2, ... l9), 'sigmoid', 'log-sigmoid' or 'raw'"


class Scoring(NamedTuple):
    """A scoring rule as the kernels read it.

    The hinge score of margin v is exp(-max(0, 1 - v)^p), the sigmoid 1 / (1 + exp(-v)); both
    multiply along the path. Raw margins add up.
    """

    kind: int
    power: int
    exponentiate: bool

    def of_margin(self, margin: float) -> float:
        """The score of a single margin, as it enters the product (or, raw, the sum)."""
        if self.kind == HINGE:
            log_score = -(max(0.0, 1.0 - margin) ** self.power)
        elif self.kind == SIGMOID:
            log_score = -float(np.logaddexp(0.0, -margin))
        else:
            log_score = margin
        return math.exp(log_score) if self.exponentiate else log_score

    def finish(self, path_scores: FloatArray) -> FloatArray:
        """From the kernels' sums of logarithms to what the user sees."""
        return np.exp(path_scores) if self.exponentiate else path_scores


def scoring(name: str) -> Scoring:
    """The rule of a name."""
    hinge = re.fullmatch(r"l([1-9])-hinge", name) if isinstance(name, str) else None
    if hinge:
        return Scoring(HINGE, int(hinge[1]), True)
    rules = {
        "sigmoid": Scoring(SIGMOID, 1, True),
        "log-sigmoid": Scoring(SIGMOID, 1, False),
        "raw": Scoring(RAW, 1, False),
    }
    if not isinstance(name, str) or name not in rules:
        raise ConfigError(f"score_function must be {SCORES}, got {name!r}")
    return rules[name]
