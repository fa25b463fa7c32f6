"""Keep some places of `Predictions`; the labels behind a gap move up."""

from __future__ import annotations

import numpy as np

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
