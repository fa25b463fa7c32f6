"""Scores of given (instance, child) pairs: what a cluster's rankers say, asked child by child."""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.compiling import inner
from multitudes.kernels.search.beam_search import HINGE, SIGMOID
from multitudes.kernels.sparse import transpose


@inner
def log_score(margin, kind, power):
    """The logarithm of a margin's score; raw margins stay as they are."""
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
    x_indptr,  # IN int64 (n_instances + 1,)
    x_indices,  # IN int32
    x_data,  # IN float32
    row_feature,  # IN int32 (n_rows,): the chunk of one cluster, see Chunk
    row_entry,  # IN int64 (n_rows + 1,)
    entry_child,  # IN uint16 or uint32 (n_entries,)
    entry_value,  # IN float32 (n_entries,)
    bias,  # IN float32 (n_children,)
    kind,  # IN: HINGE, SIGMOID or RAW
    power,  # IN: of the hinge
    above,  # IN int32 (n_above,): instances whose score of this cluster is known
    above_score,  # IN float32 (n_above,)
    pair_indptr,  # IN int64 (n_children + 1,): the pairs of each child
    pair_instance,  # IN int32 (n_pairs,): each of them is in `above`
    weight,  # TMP float32 (n_features,): all 0, and 0 again afterwards
    score_of,  # TMP float32 (n_instances,)
    score,  # OUT float32 (n_pairs,): the cluster's score plus the logarithm of the child's
):
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
