"""From trained weights to a chunk: the sparse rows of a cluster's children, one per feature."""

from __future__ import annotations

from numba import njit

from multitudes.kernels.compiling import inner
from multitudes.kernels.lanes import larger, less, load, splat


@inner
def kept_lanes(w, block, f, cut, lanes):
    """Mask of the lanes of a block whose weight of feature f is larger than their cut."""
    value = load(w[block], f * len(lanes), lanes)
    limit = load(cut, block * len(lanes), lanes)
    return less(limit, larger(value, splat(0.0, lanes) - value))


@njit(nogil=True, cache=True)
def count_kept(
    w,  # IN float32 (n_blocks, (n_local + 1) * 16)
    n_local,  # IN
    cut,  # IN float32 (n_blocks * 16,): weights with |w| <= cut are dropped
    lanes,  # IN: WIDE or NARROW; wherever 16 is said above, it is this many
):
    """(rows, entries) that `fill_kept` will write."""
    rows = 0
    entries = 0
    for f in range(n_local):
        before = entries
        for block in range(w.shape[0]):
            mask = kept_lanes(w, block, f, cut, lanes)
            while mask != 0:
                mask &= mask - 1
                entries += 1
        rows += entries > before
    return rows, entries


@njit(nogil=True, cache=True)
def fill_kept(
    w,  # IN float32 (n_blocks, (n_local + 1) * 16)
    order,  # IN int64 (n_local,): local features by ascending global id
    feature_of,  # IN int32: global id of a local feature
    cut,  # IN float32 (n_blocks * 16,); infinite where there is no child
    first_child,  # IN: the chunk's child that lane 0 of w[0] is
    row_feature,  # OUT int32 (rows,)
    row_entry,  # OUT int64 (rows + 1,): where each row's entries begin
    entry_child,  # OUT int32 (entries,): child within the chunk
    entry_value,  # OUT float32 (entries,)
    lanes,  # IN: as in `count_kept`
):
    """Write the kept weights of a chunk, rows by ascending feature, entries by child."""
    row = 0
    entry = 0
    for f in order:
        begin = entry
        for block in range(w.shape[0]):
            mask = kept_lanes(w, block, f, cut, lanes)
            lane = 0
            while mask != 0:
                if mask & 1:
                    entry_child[entry] = first_child + block * len(lanes) + lane
                    entry_value[entry] = w[block, f * len(lanes) + lane]
                    entry += 1
                mask >>= 1
                lane += 1
        if entry > begin:
            row_feature[row] = feature_of[f]
            row_entry[row] = begin
            row += 1
    row_entry[row] = entry
