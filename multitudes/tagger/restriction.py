"""Predictions among some labels alone, of models that cannot restrict their search themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitudes.scores.filtering import keep
from multitudes.types import IntArray, Predictions

CELLS_IN_MEMORY = 32_000_000
"""(instance, label) places of predictions held at once, eight bytes each."""
GROWTH = 4


def only(predictions: Predictions, labels: IntArray) -> Predictions:
    """Return the predictions that are among `labels`; those behind move up."""
    allowed = np.zeros(predictions.n_labels + 1, bool)  # the last place is that of -1
    allowed[labels] = True
    return keep(predictions, allowed[predictions.labels])


def best_among(model: Any, X: Any, labels: IntArray, *, top_k: int, n_labels: int) -> Predictions:
    """Return the best `top_k` of some labels: exact, by asking for more until there are enough.

    Parameters
    ----------
    model : fitted model
    X : CSR or array (n_instances, n_features), or a sequence of texts
    labels : int array
        Ids of the labels that may be predicted.
    top_k, n_labels : int
    """
    top_k = min(top_k, len(labels))
    width = min(GROWTH * top_k, n_labels)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    found = only(model.predict(X, top_k=width), labels).top(top_k)
    ids, scores = found.labels.copy(), found.scores.copy()
    short = np.flatnonzero(ids[:, -1] < 0) if ids.shape[1] == top_k else np.arange(n)
    if ids.shape[1] < top_k:
        lacking = ((0, 0), (0, top_k - ids.shape[1]))
        ids = np.pad(ids, lacking, constant_values=-1)
        scores = np.pad(scores, lacking, constant_values=-np.inf)
    while len(short) and width < n_labels:
        width = min(GROWTH * width, n_labels)
        step = max(1, CELLS_IN_MEMORY // width)
        for start in range(0, len(short), step):
            rows = short[start : start + step]
            part = X[rows] if hasattr(X, "shape") else [X[row] for row in rows.tolist()]
            more = only(model.predict(part, top_k=width), labels).top(top_k)
            ids[rows, : more.top_k], scores[rows, : more.top_k] = more.labels, more.scores
        short = short[ids[short, -1] < 0]
    return Predictions(ids, scores, n_labels)
