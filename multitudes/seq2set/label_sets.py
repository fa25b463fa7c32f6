"""From what was generated to `Predictions`: the set itself, or the best labels in order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.types import FloatArray, Predictions


def best_of_steps(
    labels: npt.NDArray[np.int64], scores: FloatArray, *, n_labels: int, top_k: int
) -> Predictions:
    """Each label's best score over all steps, the `top_k` best of each row.

    A label that is among the k best by this is among the k likeliest of the step where it is
    likeliest, so that k candidates a step are enough.

    Parameters
    ----------
    labels : int64 array (n, m)
        Labels of all steps, -1 for none; a label may come more than once.
    scores : float32 array (n, m)
        Their probabilities.
    n_labels : int
    top_k : int
    """
    rows = np.repeat(np.arange(len(labels)), labels.shape[1])
    flat, values = labels.ravel(), scores.ravel()
    present = flat >= 0
    rows, flat, values = rows[present], flat[present], values[present]
    order = np.lexsort((-values, flat, rows))
    rows, flat, values = rows[order], flat[order], values[order]
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]) | (flat[1:] != flat[:-1])
    counts = np.bincount(rows[first], minlength=len(labels))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    shape = (len(labels), n_labels)
    matrix = sp.csr_array((values[first].astype(np.float32), flat[first], indptr), shape=shape)
    return Predictions.from_csr(matrix, top_k)
