"""From what was generated to `Predictions`: the set itself, or the best labels in order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.types import FloatArray, Predictions


def best_of_steps(
    labels: npt.NDArray[np.int64],
    scores: FloatArray,
    *,
    n_labels: int,
    top_k: int,
    rank_by: str = "best",
) -> Predictions:
    """Each label's score over all steps, the `top_k` best of each row.

    A label that is among the k best by its best step is among the k likeliest of that step, so that
    k candidates a step are enough. By "any" what is no candidate of a step counts as 0 there.

    Parameters
    ----------
    labels : int64 array (n, m)
        Labels of all steps, -1 for none; a label may come more than once.
    scores : float32 array (n, m)
        Their probabilities.
    n_labels : int
    top_k : int
    rank_by : "best" or "any"
        The highest of a label's probabilities p, or ``1 - prod(1 - p)``.
    """
    rows = np.repeat(np.arange(len(labels)), labels.shape[1])
    flat, values = labels.ravel(), scores.ravel()
    present = flat >= 0
    rows, flat, values = rows[present], flat[present], values[present]
    order = np.lexsort((-values, flat, rows))
    rows, flat, values = rows[order], flat[order], values[order]
    is_first = np.ones(len(rows), bool)
    is_first[1:] = (rows[1:] != rows[:-1]) | (flat[1:] != flat[:-1])
    first = np.flatnonzero(is_first)
    best = values[first]
    if rank_by == "any" and len(first):
        with np.errstate(divide="ignore"):  # a probability of 1
            absent = np.add.reduceat(np.log1p(-np.minimum(values.astype(np.float64), 1.0)), first)
        best = -np.expm1(absent)
    counts = np.bincount(rows[first], minlength=len(labels))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    shape = (len(labels), n_labels)
    matrix = sp.csr_array((best.astype(np.float32), flat[first], indptr), shape=shape)
    return Predictions.from_csr(matrix, top_k)
