"""How a ranker's margin becomes a score, and how scores join along the path from the root."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from multitudes.errors import ConfigError
from multitudes.kernels.beam_search import HINGE, RAW, SIGMOID
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
    if name not in rules:
        raise ConfigError(f"score must be {SCORES}, got {name!r}")
    return rules[name]
