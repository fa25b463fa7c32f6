"""Reliability: of the labels given a probability of 0.7, 70% should be true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError
from multitudes.scores.outcomes import Truth, outcomes
from multitudes.types import Predictions

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reliability:
    """Probabilities against what happened, in bins of about equally many pairs.

    Parameters
    ----------
    predicted, observed : float64 arrays (n_bins,)
        Mean probability of the pairs (instance, listed label) of a bin, and the share that is true.
    counts : int64 array (n_bins,)
        Pairs of each bin.
    """

    predicted: Values
    observed: Values
    counts: npt.NDArray[np.int64]

    @property
    def error(self) -> float:
        """Expected calibration error: the mean over pairs of |predicted - observed| of the bin."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))


def reliability(predictions: Predictions, truth: Truth, *, n_bins: int = 15) -> Reliability:
    """How far scores taken as probabilities agree with what is true.

    Only listed labels are looked at, and of those an instance has many that nobody would give it:
    ``reliability(predictions.top(5), truth)`` asks about the ones that matter.

    Parameters
    ----------
    predictions : Predictions
        Scores below 0 count as 0, above 1 as 1.
    truth : sparse or dense 0/1 matrix (n_instances, n_labels)
    n_bins : int
        Bins of equal mass; equal scores share a bin, so there may be fewer.

    References
    ----------
    Nguyen and O'Connor, Posterior calibration and exploratory analysis for natural language
    processing models, 2015 (adaptive bins).
    """
    if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ConfigError(f"n_bins must be a whole number >= 1, got {n_bins!r}")
    found = outcomes(predictions, truth)
    scores = predictions.scores[found.is_listed].astype(np.float64).clip(0, 1)
    return binned(scores, found.is_true[found.is_listed], int(n_bins))


def binned(probabilities: Values, is_true: npt.NDArray[np.bool_], n_bins: int) -> Reliability:
    """Bins of at least one pair, each a probability (n_pairs,) and whether it is true."""
    n = len(probabilities)
    order = np.argsort(probabilities, kind="stable")
    rising = probabilities[order]
    cuts = np.linspace(0, n, n_bins + 1)[1:-1].round().astype(np.int64)
    # A cut inside a run of equal scores moves to its end, so the order of pairs has no say.
    ends = np.searchsorted(rising, rising[cuts[cuts > 0] - 1], side="right")
    starts = np.unique(np.concatenate([[0], ends[ends < n]]))
    counts = np.diff(np.append(starts, n))
    return Reliability(
        np.add.reduceat(rising, starts) / counts,
        np.add.reduceat(is_true[order].astype(np.float64), starts) / counts,
        counts,
    )
