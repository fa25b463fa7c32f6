"""The pairs (instance, listed label) that a calibration is fitted on, and the way back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from multitudes.scores.outcomes import check_numbers, outcomes
from multitudes.types import NO_SCORE, Predictions, Sparse

Values = npt.NDArray[np.float64]


def scored_pairs(predictions: Predictions, truth: Sparse) -> tuple[Values, Values]:
    """(score, 1 where it is true) of every listed label: two float64 arrays (n_pairs,)."""
    found = outcomes(predictions, truth)
    scores = predictions.scores[found.is_listed].astype(np.float64)
    return scores, found.is_true[found.is_listed].astype(np.float64)


def with_probabilities(
    predictions: Predictions, probability: Callable[[Values], Values]
) -> Predictions:
    """Predictions in the same order, each listed score replaced by its probability.

    Parameters
    ----------
    probability : function
        Rising: scores (n_pairs,) to numbers that are brought into [0, 1].
    """
    is_listed = check_numbers(predictions)
    out = np.full(predictions.scores.shape, NO_SCORE, np.float32)
    out[is_listed] = probability(predictions.scores[is_listed].astype(np.float64)).clip(0, 1)
    # Rounding may lift a lower score by one unit in the last place; ranks must not turn round.
    np.minimum.accumulate(out, axis=1, out=out)
    return Predictions(predictions.labels, out, predictions.n_labels)
