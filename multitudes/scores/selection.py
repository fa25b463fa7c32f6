"""Choose places of `Predictions`, and keep them alone; the labels behind a gap move up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from multitudes.scores.outcomes import Mask
from multitudes.types import NO_LABEL, NO_SCORE, Predictions


def keep(predictions: Predictions, wanted: Mask) -> Predictions:
    """Only the `wanted` (n_instances, top_k) places, in their order; the width stays."""
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
