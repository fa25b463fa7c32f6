"""Means over seeds, and how sure they are."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np

CONFIDENCE = 0.95


def mean_and_margin(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean, and the half-width of its t-interval; None for a single value."""
    from scipy.special import stdtrit

    n = len(values)
    if n < 2:
        return float(np.mean(values)), None
    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return float(np.mean(values)), quantile * statistics.stdev(values) / n**0.5
