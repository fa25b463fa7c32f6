"""One cluster before and after the solver: its instances as rows, its weights as a chunk.

`prepare_rows` copies or points at the instances that the cluster's children share. Afterwards
`count_kept` and `fill_kept` write the weights worth keeping as sparse rows, one per feature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitudes.kernels.arrays import Floats, Ints, Lanes, Longs
from multitudes.kernels.compiling import kernel, merged, prefetch
from multitudes.kernels.lane_masks import bit_count, lowest_bit
from multitudes.kernels.lanes import larger, less, load, splat
from multitudes.kernels.solver.dual_descent import forget, gather

AHEAD = 8  # rows between asking for one and writing it


class Scratch(NamedTuple):
    """Buffers that one thread reuses from cluster to cluster, for `prepare_rows`."""

    local_of: Any  # int32 (n_features,), all -1
    feature_of: Any  # int32 (n_features,)
    local: Any  # int32 (values of the largest gathered cluster,)
    value: Any  # float32 (same,)


@kernel
def prepare_rows(
    x_indptr: Longs,  # IN (n_instances + 1,)
    x_indices: Ints,  # IN
    x_data: Floats,  # IN
    x_square: Floats,  # IN (n_instances,): |x|^2
    weight: Floats,  # IN (n_instances,)
    rows: Ints,  # IN (n_rows,): the cluster's instances
    gathered: bool,  # IN bool: copy the rows and renumber their features, or read them in place
    apart: bool,  # IN bool: where gathered, features of a single row come last
    local_of: Ints,  # TMP (n_features,): all -1, and -1 again afterwards
    feature_of: Ints,  # OUT (n_features,): global id of each local feature
    local: Ints,  # OUT: local feature of each value, where gathered
    value: Floats,  # OUT, where gathered
    begin: Longs,  # OUT (n_rows,): where each row's values begin
    middle: Longs,  # OUT (n_rows,): where those of features that no other row has begin
    finish: Longs,  # OUT (n_rows,): and where they end
    alone: Floats,  # OUT (n_rows,): sum of the squares of those
    square: Floats,  # OUT (n_rows,)
    own_weight: Floats,  # OUT (n_rows,)
) -> int:
    """Returns the number of local features."""
    for r in range(rows.size):
        square[r] = x_square[rows[r]]
        alone[r] = 0
        own_weight[r] = weight[rows[r]]
    if gathered:
        n_local = gather(
            x_indptr, x_indices, x_data, rows, apart, local_of, feature_of, begin, middle, finish,
            local, value,
        )  # fmt: skip
        forget(local_of, feature_of, n_local)
        for r in range(rows.size):
            for t in range(middle[r], finish[r]):
                alone[r] += value[t] * value[t]
        return n_local
    for r in range(rows.size):
        begin[r] = x_indptr[rows[r]]
        middle[r] = x_indptr[rows[r] + 1]
        finish[r] = middle[r]
    for f in range(feature_of.size):
        feature_of[f] = f
    return feature_of.size


@merged
def kept_lanes(w: Floats, block: int, f: int, cut: Floats, lanes: Lanes) -> int:
    """Mask of the lanes of a block whose weight of feature f is larger than their cut."""
    value = load(w[block], f * len(lanes), lanes)
    limit = load(cut, block * len(lanes), lanes)
    return less(limit, larger(value, splat(0.0, lanes) - value))


@kernel
def count_kept(
    w: Floats,  # IN (n_blocks, (n_local + 1) * 16)
    n_local: int,  # IN
    cut: Floats,  # IN (n_blocks * 16,): weights with |w| <= cut are dropped
    kept: Longs,  # OUT (n_local,): the local features with a weight that is kept come first
    lanes: Lanes,  # IN: WIDE or NARROW; wherever 16 is said above, it is this many
) -> tuple[int, int]:
    """(rows, entries) that `fill_kept` will write."""
    rows = 0
    entries = 0
    for f in range(n_local):
        before = entries
        for block in range(w.shape[0]):
            entries += int(bit_count(kept_lanes(w, block, f, cut, lanes)))
        kept[rows] = f
        rows += entries > before
    return rows, entries


@kernel
def fill_kept(
    w: Floats,  # IN (n_blocks, (n_local + 1) * 16)
    order: Longs,  # IN (rows,): local features with a kept weight, by ascending global id
    feature_of: Ints,  # IN: global id of a local feature
    cut: Floats,  # IN (n_blocks * 16,); infinite where there is no child
    first_child: int,  # IN: the chunk's child that lane 0 of w[0] is
    row_feature: Ints,  # OUT (rows,)
    row_entry: Longs,  # OUT (rows + 1,): where each row's entries begin
    entry_child: Ints,  # OUT (entries,): child within the chunk
    entry_value: Floats,  # OUT (entries,)
    lanes: Lanes,  # IN: as in `count_kept`
) -> None:
    """Write the kept weights of a chunk, rows by ascending feature, entries by child."""
    entry = 0
    for row in range(order.size):
        if row + AHEAD < order.size:
            following = order[row + AHEAD]
            prefetch(feature_of, following)
            for block in range(w.shape[0]):
                prefetch(w[block], following * len(lanes))
        f = order[row]
        row_feature[row] = feature_of[f]
        row_entry[row] = entry
        for block in range(w.shape[0]):
            mask = kept_lanes(w, block, f, cut, lanes)
            while mask != 0:
                lane = np.int64(lowest_bit(mask))
                entry_child[entry] = first_child + block * len(lanes) + lane
                entry_value[entry] = w[block, f * len(lanes) + lane]
                entry += 1
                mask &= mask - np.int32(1)
    row_entry[order.size] = entry
