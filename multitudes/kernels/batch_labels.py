"""The labels of a training batch: positives drawn for its instances, and all that are known."""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Floats, Ints, Longs


@njit(cache=True, nogil=True)
def draw_labels(
    indptr: Longs,  # IN  (n_instances + 1,): rows of Y
    indices: Ints,  # IN  (nnz,): ascending within a row
    weights: Floats,  # IN  (n_labels,): above 0
    instances: Longs,  # IN  (b,)
    waits: Floats,  # IN  (labels of the instances, all in all,): exponential random numbers
    drawn: Longs,  # OUT (b, p): label ids, -1 where an instance has fewer
) -> None:
    """Draw up to p labels of each instance without repeats, in proportion to their weights.

    A label's clock rings after ``wait / weight``. The first to ring is label l with probability
    weight[l] / sum of weights, the second likewise among the others, and so on.
    """
    p = drawn.shape[1]
    times = np.empty(p, np.float32)
    at = 0
    for i in range(len(instances)):
        count = 0
        for k in range(indptr[instances[i]], indptr[instances[i] + 1]):
            time = waits[at] / weights[indices[k]]
            at += 1
            if count == p and time >= times[p - 1]:
                continue
            j = count if count < p else p - 1
            count = min(count + 1, p)
            while j > 0 and times[j - 1] > time:
                times[j] = times[j - 1]
                drawn[i, j] = drawn[i, j - 1]
                j -= 1
            times[j] = time
            drawn[i, j] = indices[k]
        for j in range(count, p):
            drawn[i, j] = -1


@njit(cache=True, nogil=True)
def known_pairs(
    indptr: Longs,  # IN  (n_instances + 1,): rows of Y
    indices: Ints,  # IN  (nnz,)
    instances: Longs,  # IN  (b,)
    column: Ints,  # IN  (n_labels,): a label's column in the batch, -1 outside it
    rows: Longs,  # OUT (labels of the instances, all in all,): the first `count`
    columns: Longs,  # OUT like rows
) -> int:
    """Every (instance, label) of the batch that Y has, row by row; returns how many."""
    count = 0
    for i in range(len(instances)):
        for k in range(indptr[instances[i]], indptr[instances[i] + 1]):
            place = column[indices[k]]
            if place >= 0:
                rows[count] = i
                columns[count] = place
                count += 1
    return count
