"""Checks of stored chunks, before anything is built from them: one pass over rows and entries.

That rows ascend by feature, and entries within a row by child, is found without a branch per entry:
the places where a value does not rise are counted by vector instructions, and then again at the
borders of chunks and rows, where they may; the two counts must agree. Since all else rises, only
the first and last of a chunk or row need to be held against their limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Array, Ints, Longs
from multitudes.kernels.compiling import inner

SOUND, FEATURE_OUTSIDE, FEATURES_FALL, CHILD_OUTSIDE, CHILDREN_FALL = 0, 1, 2, 3, 4


@inner
def falls(values: Array, first: int, last: int) -> int:
    """Count the values at first <= place < last that are not larger than the one before."""
    found = 0
    for place in range(np.uint64(max(first, 1)), np.uint64(last)):
        found += values[place] <= values[place - np.uint64(1)]
    return found


@njit(nogil=True, cache=True)
def check_rows(
    chunk_rows: Ints,  # IN (n_clusters,): none negative, and they add up to the rows
    row_feature: Ints,  # IN (n_rows,)
    n_features: int,  # IN
) -> tuple[int, int]:
    """Return (what is wrong, in which cluster) with the features of the rows of each chunk."""
    allowed = 0
    first = np.int64(0)
    for cluster in range(chunk_rows.size):
        if chunk_rows[cluster] == 0:
            continue
        last = first + np.int64(chunk_rows[cluster])
        if row_feature[first] < 0 or row_feature[last - 1] >= n_features:
            return FEATURE_OUTSIDE, cluster
        if first > 0:
            allowed += row_feature[first] <= row_feature[first - 1]
        first = last
    return (SOUND if falls(row_feature, 0, first) == allowed else FEATURES_FALL), -1


@njit(nogil=True, cache=True)
def check_entries(
    chunk_rows: Ints,  # IN (n,): of some clusters that follow each other
    row_entries: Array,  # IN unsigned (n_rows,): of all clusters; they add up to the entries
    entry_child: Array,  # IN unsigned (n_entries,): of all clusters
    child_count: Longs,  # IN (n,)
    first_row: int,  # IN: where the first of the clusters starts
    first_entry: int,  # IN
) -> tuple[int, int]:
    """Return (what is wrong, in which of the clusters) with the children of entries."""
    one, at = np.uint64(1), np.uint64(first_entry)
    allowed: Any = np.int64(0)
    row = np.uint64(first_row)
    for cluster in range(chunk_rows.size):
        outside: Any = np.int64(0)
        n_children = np.uint64(child_count[cluster])
        last = row + np.uint64(chunk_rows[cluster])
        for r in range(row, last):
            n = np.uint64(row_entries[r])
            if n == 0:
                continue
            if at > 0:
                allowed += entry_child[at] <= entry_child[at - one]
            at += n
            outside += np.uint64(entry_child[at - one]) >= n_children
        row = last
        if outside:
            return CHILD_OUTSIDE, cluster
    found = falls(entry_child, first_entry, np.int64(at))
    return (SOUND if found == allowed else CHILDREN_FALL), -1
