"""Predictions that kernels count in: every label id an address."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitudes.errors import DataError
from multitudes.types import NO_LABEL, Predictions
from multitudes.validation.passes import first_outside


def checked_predictions(predictions: Any, *, name: str = "predictions") -> Predictions:
    """Return predictions whose arrays nobody else can change, with label ids of the label space.

    Parameters
    ----------
    predictions : Predictions
        A score beside a label may be infinite, but not NaN: scores must be comparable.
    name : str
        What messages call them.
    """
    if not isinstance(predictions, Predictions):
        raise DataError(f"{name} must be Predictions, got {type(predictions).__name__}")
    labels, scores = (
        np.array(predictions.labels, order="C"),
        np.array(predictions.scores, order="C"),
    )
    at = first_outside(labels, NO_LABEL, predictions.n_labels)
    if at >= 0:
        row, rank = divmod(at, labels.shape[1])
        raise DataError(
            f"{name}, instance {row}, rank {rank + 1}: label {labels[row, rank]} is not in "
            f"0..{predictions.n_labels - 1} (or -1 for none): use ids of the label space"
        )
    bad = np.isnan(scores) & (labels != NO_LABEL)
    if bad.any():
        row, rank = np.argwhere(bad)[0]
        raise DataError(
            f"{name}, instance {row}, rank {rank + 1}: the score is NaN: scores must be comparable"
        )
    return Predictions(labels, scores, predictions.n_labels)
