"""Which predicted labels turned out to be true: what calibration and set rules learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitudes import memory
from multitudes.errors import DataError
from multitudes.types import NO_LABEL, IntArray, Predictions
from multitudes.validation import checked_predictions, checked_truth

Mask = npt.NDArray[np.bool_]
Truth: TypeAlias = Any  # a scipy sparse matrix, a 0/1 array, or a list of 0/1 rows


@dataclass(frozen=True)
class Outcomes:
    """Predictions held against the truth, place by place.

    Parameters
    ----------
    is_listed, is_true : bool arrays (n_instances, top_k)
        Whether there is a label in a place of `Predictions`, and whether it is a true one.
    n_true : int64 array (n_instances,)
        True labels of each instance, those that are not listed included.
    """

    is_listed: Mask
    is_true: Mask
    n_true: IntArray

    def __len__(self) -> int:
        return len(self.n_true)

    def take(self, rows: IntArray) -> Outcomes:
        """Return the outcomes of some instances."""
        return Outcomes(self.is_listed[rows], self.is_true[rows], self.n_true[rows])

    @property
    def n_unlisted(self) -> int:
        """True labels that no place holds, over all instances."""
        return int(self.n_true.sum() - self.is_true.sum())


def outcomes(predictions: Predictions, truth: Truth) -> Outcomes:
    """Hold predictions of labeled instances against their labels.

    Parameters
    ----------
    predictions : Predictions
        Finite scores; more labels per instance than are likely to be true.
    truth : sparse or dense 0/1 matrix (n_instances, n_labels)
        Non-zero where a label is true.
    """
    from multitudes.kernels.metrics import find_hits  # loads numba: not before it is needed

    Y = checked_truth(truth)
    if Y.shape != (len(predictions), predictions.n_labels):
        raise DataError(
            f"predictions are of {len(predictions)} instances and {predictions.n_labels} labels, "
            f"the truth is of {Y.shape[0]} and {Y.shape[1]}: they must be the same, in one order"
        )
    predictions = checked_predictions(predictions)
    labels = predictions.labels
    _check_places(predictions)
    row, rank = np.empty(Y.nnz, np.int32), np.empty(Y.nnz, np.int32)
    memory.ask(4 * Y.shape[1], f"a mark for each of {Y.shape[1]:,} labels")
    mark = np.zeros(Y.shape[1], np.int32)
    indptr, indices = Y.indptr.astype(np.int64), Y.indices.astype(np.int32)
    n_hits = find_hits(labels, indptr, indices, mark, row, rank)
    if n_hits < 0:
        raise DataError(
            f"predictions, instance {-1 - n_hits}: a label is listed twice, or after a gap"
        )
    is_true = np.zeros(labels.shape, bool)
    is_true[row[:n_hits], rank[:n_hits]] = True
    return Outcomes(labels != NO_LABEL, is_true, np.diff(indptr))


def check_numbers(predictions: Predictions) -> Mask:
    """Return the listed places, (n_instances, top_k); refuse scores that are not finite."""
    is_listed: Mask = predictions.labels != NO_LABEL
    bad = is_listed & ~np.isfinite(predictions.scores)
    if bad.any():
        row, rank = np.argwhere(bad)[0]
        raise DataError(
            f"predictions, instance {row}, rank {rank + 1}: the score is "
            f"{predictions.scores[row, rank]}, which is not a finite number"
        )
    return is_listed


def _check_places(predictions: Predictions) -> None:
    """Refuse no instances, no labels, and scores that are not finite."""
    if not len(predictions):
        raise DataError("there are no instances to learn from: give predictions and their truth")
    if not (predictions.labels != NO_LABEL).any():
        raise DataError("no instance has a predicted label: there is nothing to learn from")
    check_numbers(predictions)
