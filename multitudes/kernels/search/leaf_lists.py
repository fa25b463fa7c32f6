"""The best labels of each leaf that a beam has reached, leaf by leaf."""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Floats, Ints, Longs
from multitudes.kernels.lanes import LANES
from multitudes.kernels.search.beam_search import keep_children
from multitudes.kernels.search.index import SearchArrays
from multitudes.kernels.search.margins import add_up


@njit(nogil=True, cache=True)
def list_leaves(
    x_indptr: Longs,  # IN (n_instances + 1,)
    x_indices: Ints,  # IN
    x_data: Floats,  # IN
    first_instance: int,  # IN: the block's first row of X
    index: SearchArrays,  # IN
    kind: int,  # IN: HINGE, SIGMOID or RAW
    power: int,  # IN: of the hinge
    leaf: Ints,  # IN (n, beam_width): leaves reached, -1 where there are no more
    leaf_score: Floats,  # IN (n, beam_width)
    labels: Ints,  # OUT (n, beam_width, n_kept): best first, -1 where there are no more
    scores: Floats,  # OUT (n, beam_width, n_kept): logarithms for HINGE and SIGMOID
) -> None:
    """Rank the labels of each leaf for itself, and keep `n_kept`."""
    n, beam_width, n_kept = labels.shape
    longest = 0
    for i in range(first_instance, first_instance + n):
        longest = max(longest, x_indptr[i + 1] - x_indptr[i])
    hit_code = np.empty(longest + 1, np.uint64)
    hit_at = np.empty(longest + 1, np.uint64)
    total = np.empty(index.largest_chunk * LANES, np.float32)
    scratch = np.empty(LANES, np.float32)
    first_leaf = index.level_start[index.level_start.size - 2]
    for i in range(n):
        begin = x_indptr[first_instance + i]
        end = x_indptr[first_instance + i + 1]
        for place in range(beam_width):
            count = 0
            if leaf[i, place] >= 0:
                g = first_leaf + leaf[i, place]
                n_blocks = add_up(index, g, x_indices, x_data, begin, end, hit_code, hit_at, total)
                count = keep_children(
                    index, g, n_blocks, index.slot_labels, total, leaf_score[i, place],
                    kind, power, scratch, labels[i, place], scores[i, place], count,
                )  # fmt: skip
            for k in range(count, n_kept):
                labels[i, place, k] = -1
                scores[i, place, k] = -np.inf
