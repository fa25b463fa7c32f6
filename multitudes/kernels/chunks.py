"""From trained weights to a chunk: the sparse rows of a cluster's children, one per feature."""

from __future__ import annotations

from numba import njit

from multitudes.kernels.lanes import LANES


@njit(nogil=True, cache=True)
def count_kept(w, n_local, n_children, cut):
    """(rows, entries) that `fill_kept` will write: weights with |w| > cut of their child."""
    rows = 0
    entries = 0
    for f in range(n_local):
        kept = 0
        for child in range(n_children):
            kept += abs(w[child // LANES, f * LANES + child % LANES]) > cut[child]
        entries += kept
        rows += kept > 0
    return rows, entries


@njit(nogil=True, cache=True)
def fill_kept(
    w,  # IN float32 (n_blocks, (n_local + 1) * 16)
    order,  # IN int64 (n_local,): local features by ascending global id
    feature_of,  # IN int32: global id of a local feature
    cut,  # IN float32 (n_children,)
    first_child,  # IN: the chunk's child that lane 0 of w[0] is
    n_children,  # IN: children in w
    row_feature,  # OUT int32 (rows,)
    row_entry,  # OUT int64 (rows + 1,): where each row's entries begin
    entry_child,  # OUT int32 (entries,): child within the chunk
    entry_value,  # OUT float32 (entries,)
):
    """Write the kept weights of a chunk, rows by ascending feature, entries by child."""
    row = 0
    entry = 0
    for f in order:
        begin = entry
        for child in range(n_children):
            value = w[child // LANES, f * LANES + child % LANES]
            if abs(value) > cut[child]:
                entry_child[entry] = first_child + child
                entry_value[entry] = value
                entry += 1
        if entry > begin:
            row_feature[row] = feature_of[f]
            row_entry[row] = begin
            row += 1
    row_entry[row] = entry
