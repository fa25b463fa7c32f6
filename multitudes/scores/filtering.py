"""Keep some of the labels in `Predictions`: those that reach a threshold, or are not filtered out.

Filter pairs are (instance, label) pairs that must not be predicted, such as an instance that is
itself a label.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.scores.outcomes import Mask, Truth
from multitudes.types import NO_LABEL, NO_SCORE, IntArray, Predictions
from multitudes.validation import checked_truth
from multitudes.validation.arrays import as_array

Convention = Literal["predictions", "both"]
CELLS_IN_MEMORY = 32_000_000  # (pair, rank) comparisons made at once, a byte each


def keep(predictions: Predictions, wanted: Mask) -> Predictions:
    """Return only the `wanted` (n_instances, top_k) places; the labels behind a gap move up.

    The width stays.
    """
    labels = np.where(wanted, predictions.labels, np.int32(NO_LABEL))
    scores = np.where(wanted, predictions.scores, np.float32(NO_SCORE))
    missing = labels == NO_LABEL
    gaps = np.flatnonzero((missing[:, :-1] & ~missing[:, 1:]).any(axis=1))
    order = np.argsort(missing[gaps], axis=1, kind="stable")
    labels[gaps] = np.take_along_axis(labels[gaps], order, axis=1)
    scores[gaps] = np.take_along_axis(scores[gaps], order, axis=1)
    return Predictions(labels, scores, predictions.n_labels)


def reaching(
    predictions: Predictions,
    thresholds: np.float64 | npt.NDArray[np.float64],
    *,
    min_size: int = 0,
) -> Mask:
    """Places (n_instances, top_k) whose score reaches a threshold, or that are forced.

    Parameters
    ----------
    thresholds : float64, or float64 array (n_labels,)
        One for all labels, or one for each. Not float32: rounded, a threshold between two scores
        could meet the lower one.
    min_size : int
        The best labels of an instance that need not reach it.
    """
    is_listed = predictions.labels != NO_LABEL
    limits = thresholds
    if isinstance(thresholds, np.ndarray):
        limits = thresholds[np.where(is_listed, predictions.labels, 0)]
    forced = np.arange(predictions.top_k) < min_size
    return np.asarray(is_listed & (forced | (predictions.scores >= limits)), np.bool_)


def filter_pairs(
    predictions: Predictions,
    truth: Truth,
    pairs: npt.ArrayLike,
    *,
    convention: Convention = "predictions",
    top_k: int | None = None,
) -> tuple[Predictions, sp.csr_array[Any]]:
    """Predictions and truth as evaluation should see them.

    Parameters
    ----------
    predictions : Predictions
        Ask the model for more labels than `top_k`: removed ones are not replaced.
    truth : sparse or dense 0/1 matrix (n_instances, n_labels)
    pairs : int array (n_pairs, 2)
        (instance, label), as in `Dataset.filter_pairs`.
    convention : "predictions" or "both"
        Remove the pairs from the predictions alone (a true label among them then counts as
        missed, as most published numbers have it), or from the truth as well.
    top_k : int, optional
        Labels kept afterwards; all by default.
    """
    if convention not in get_args(Convention):
        raise ConfigError(
            f"convention must be one of {list(get_args(Convention))}, got {convention!r}"
        )
    kept = remove_pairs(predictions, pairs, top_k=top_k)
    Y = checked_truth(truth)
    return kept, (remove_pairs_from_truth(Y, pairs) if convention == "both" else Y)


def remove_pairs(
    predictions: Predictions, pairs: npt.ArrayLike, *, top_k: int | None = None
) -> Predictions:
    """Return the predictions without the pairs; the labels behind a removed one move up.

    Parameters
    ----------
    predictions : Predictions
        Wider than `top_k` if rows are to stay full: removed labels are not replaced.
    pairs : int array (n_pairs, 2)
        (instance, label); pairs that were not predicted are legal.
    top_k : int, optional
        Cut to this many labels *after* removing; by default the width stays.
    """
    checked = check_pairs(pairs, len(predictions), predictions.n_labels)
    rows, ranks = _found(predictions, checked)
    wanted = np.ones(predictions.labels.shape, bool)
    wanted[rows, ranks] = False
    kept = keep(predictions, wanted)
    return kept if top_k is None else kept.top(top_k)


def remove_pairs_from_truth(truth: Truth, pairs: npt.ArrayLike) -> sp.csr_array[Any]:
    """Return the true labels without the pairs."""
    Y: sp.csr_array[Any] = checked_truth(truth).copy()
    checked = check_pairs(pairs, *Y.shape)
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    n_labels = Y.shape[1]
    unwanted = np.isin(rows * n_labels + Y.indices, checked[:, 0] * n_labels + checked[:, 1])
    Y.data[unwanted] = 0
    Y.eliminate_zeros()
    return Y


def check_pairs(pairs: npt.ArrayLike, n_instances: int, n_labels: int) -> IntArray:
    """Return the pairs as int64 (n_pairs, 2) inside (n_instances, n_labels), or a DataError."""
    given = as_array(pairs)
    if given is None:
        raise DataError(
            "filter pairs must be a whole-number array (n_pairs, 2), not lists of different lengths"
        )
    if given.size == 0:
        return np.empty((0, 2), np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or not np.issubdtype(given.dtype, np.integer):
        raise DataError(
            "filter pairs must be a whole-number array (n_pairs, 2) of (instance, label), got "
            f"{given.dtype} of shape {given.shape}"
        )
    bad = np.flatnonzero(((given < 0) | (given >= (n_instances, n_labels))).any(axis=1))
    if len(bad):
        row, label = given[bad[0]]
        raise DataError(
            f"filter pair {bad[0]} is (instance {row}, label {label}): instances go to "
            f"{n_instances - 1} and labels to {n_labels - 1}; is it the other split's file?"
        )
    return given.astype(np.int64)


def _found(predictions: Predictions, pairs: IntArray) -> tuple[IntArray, IntArray]:
    """Instance and rank of every pair that was predicted."""
    step = max(1, CELLS_IN_MEMORY // max(predictions.top_k, 1))
    rows, ranks = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for start in range(0, len(pairs), step):
        some = pairs[start : start + step]
        pair, rank = np.nonzero(predictions.labels[some[:, 0]] == some[:, 1:])
        rows.append(some[pair, 0])
        ranks.append(rank)
    return np.concatenate(rows), np.concatenate(ranks)
