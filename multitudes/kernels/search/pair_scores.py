"""Scores of given (instance, child) pairs: what a cluster's rankers say, asked child by child."""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Array, Floats, Ints, Longs
from multitudes.kernels.compiling import inner
from multitudes.kernels.search.beam_search import HINGE, SIGMOID
from multitudes.kernels.sparse import transpose


@inner
def log_score(margin: np.float32, kind: int, power: int) -> np.float32:
    """Return the logarithm of a margin's score; raw margins stay as they are."""
    if kind == HINGE:
        gap = max(np.float32(1) - margin, np.float32(0))
        loss = gap
        for _ in range(power - 1):
            loss *= gap
        return -loss
    if kind == SIGMOID:
        return min(margin, np.float32(0)) - np.log1p(np.exp(-abs(margin)))
    return margin


@njit(nogil=True, cache=True)
def score_children(
    x_indptr: Longs,  # IN (n_instances + 1,)
    x_indices: Ints,  # IN
    x_data: Floats,  # IN
    row_feature: Ints,  # IN (n_rows,): the chunk of one cluster, see Chunk
    row_entry: Longs,  # IN (n_rows + 1,)
    entry_child: Array,  # IN uint16 or uint32 (n_entries,)
    entry_value: Floats,  # IN (n_entries,)
    bias: Floats,  # IN (n_children,)
    kind: int,  # IN: HINGE, SIGMOID or RAW
    power: int,  # IN: of the hinge
    above: Ints,  # IN (n_above,): instances whose score of this cluster is known
    above_score: Floats,  # IN (n_above,)
    pair_indptr: Longs,  # IN (n_children + 1,): the pairs of each child
    pair_instance: Ints,  # IN (n_pairs,): each of them is in `above`
    weight: Floats,  # TMP (n_features,): all 0, and 0 again afterwards
    score_of: Floats,  # TMP (n_instances,)
    score: Floats,  # OUT (n_pairs,): the cluster's score plus the logarithm of the child's
) -> None:
    """Score the pairs of one cluster's children."""
    for t in range(above.size):
        score_of[above[t]] = above_score[t]
    starts = np.empty(bias.size + 1, np.int64)
    row = np.empty(entry_child.size, np.int32)
    value = np.empty(entry_child.size, np.float32)
    transpose(row_entry, entry_child, entry_value, starts, row, value)
    for child in range(bias.size):
        if pair_indptr[child] == pair_indptr[child + 1]:
            continue
        for e in range(starts[child], starts[child + 1]):
            weight[row_feature[row[e]]] = value[e]
        for p in range(pair_indptr[child], pair_indptr[child + 1]):
            i = pair_instance[p]
            margin = np.float32(0)
            for k in range(x_indptr[i], x_indptr[i + 1]):
                margin += weight[x_indices[k]] * x_data[k]
            score[p] = score_of[i] + log_score(margin + bias[child], kind, power)
        for e in range(starts[child], starts[child + 1]):
            weight[row_feature[row[e]]] = 0
