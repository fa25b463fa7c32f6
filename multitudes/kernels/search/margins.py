"""Margins of a cluster's children: an instance's features are looked up, their weights added."""

from __future__ import annotations

import numpy as np

from multitudes.kernels.arrays import Floats, Ints, Longs, Shorts, Vector
from multitudes.kernels.compiling import borrowing, prefetch
from multitudes.kernels.lane_masks import (
    bit_count,
    lowest_bit,
    matches,
    spread_floats,
    spread_halves,
)
from multitudes.kernels.lanes import LANES, fma, load, splat, store
from multitudes.kernels.search.index import (
    BLOCK_FIRST,
    BUCKET_FIRST,
    BUCKET_SHIFT,
    CHILD_COUNT,
    CODE_FIRST,
    FULL_BLOCKS,
    ROW_FIRST,
    SearchArrays,
    blocks_of,
)


@borrowing
def find_rows(
    index: SearchArrays, g: int, x_indices: Ints, begin: int, end: int, hit_row: Longs,
    hit_at: Longs,
) -> int:  # fmt: skip
    """Rows of cluster g that an instance's features meet; their number.

    Most buckets fit one vector, and whether a feature was found is added up, not branched upon:
    lookups run side by side. What is read in vain lies within `ROW_MARGIN`.
    """
    first = index.cluster[g, ROW_FIRST]
    buckets = index.cluster[g, BUCKET_FIRST]
    shift = index.cluster[g, BUCKET_SHIFT]
    code = index.cluster[g, CODE_FIRST]
    hits = 0
    for t in range(begin, end):
        feature = x_indices[t]
        b = buckets + (feature >> shift)
        at = first + index.bucket[b]
        last = first + index.bucket[b + 1]
        row = at + lowest_bit(matches(index.row_feature, at, feature))
        while row >= at + LANES and at + LANES < last:
            at += LANES
            row = at + lowest_bit(matches(index.row_feature, at, feature))
        prefetch(index.code, code + np.int64(index.row_start[row]))
        hit_row[hits] = row
        hit_at[hits] = t
        hits += row < last
    return hits


@borrowing
def spread(code: Shorts, at: int, mask: int, wide: int) -> Vector:
    """Return the weights from `at` on in the lanes of a mask."""
    if wide:
        return spread_floats(code, at, mask)
    return spread_halves(code, at, mask)


@borrowing
def add_one_block(
    index: SearchArrays, first: int, hits: int, hit_row: Longs, hit_at: Longs, x_data: Floats,
    total: Floats,
) -> None:  # fmt: skip
    """Sum an instance's values times the rows of a cluster of one block, in registers."""
    even = splat(np.float32(0.0))
    odd = splat(np.float32(0.0))
    h = 0
    while h + 1 < hits:
        at = first + np.int64(index.row_start[hit_row[h]])
        weights = spread(index.code, at + 1, index.code[at], index.wide)
        even = fma(splat(x_data[hit_at[h]]), weights, even)
        at = first + np.int64(index.row_start[hit_row[h + 1]])
        weights = spread(index.code, at + 1, index.code[at], index.wide)
        odd = fma(splat(x_data[hit_at[h + 1]]), weights, odd)
        h += 2
    if h < hits:
        at = first + np.int64(index.row_start[hit_row[h]])
        weights = spread(index.code, at + 1, index.code[at], index.wide)
        even = fma(splat(x_data[hit_at[h]]), weights, even)
    store(total, 0, even + odd)


@borrowing
def add_full(
    index: SearchArrays, first: int, n_blocks: int, hits: int, hit_row: Longs, hit_at: Longs,
    x_data: Floats, total: Floats,
) -> None:  # fmt: skip
    """Sum an instance's values times the rows of a cluster of a few blocks."""
    for h in range(hits):
        masks = first + np.int64(index.row_start[hit_row[h]])
        at = masks + n_blocks
        value = splat(x_data[hit_at[h]])
        for block in range(n_blocks):
            mask = index.code[masks + block]
            weights = spread(index.code, at, mask, index.wide)
            store(total, block * LANES, fma(value, weights, load(total, block * LANES)))
            at += bit_count(mask) << index.wide


@borrowing
def add_listed(
    index: SearchArrays, first: int, hits: int, hit_row: Longs, hit_at: Longs, x_data: Floats,
    total: Floats,
) -> None:  # fmt: skip
    """Sum an instance's values times the rows of a cluster of many blocks."""
    for h in range(hits):
        at = first + np.int64(index.row_start[hit_row[h]])
        end = first + np.int64(index.row_start[hit_row[h] + 1])
        value = splat(x_data[hit_at[h]])
        place = np.int64(0)
        while at < end:
            place += LANES * np.int64(index.code[at])
            mask = index.code[at + 1]
            weights = spread(index.code, at + 2, mask, index.wide)
            store(total, place, fma(value, weights, load(total, place)))
            at += 2 + (bit_count(mask) << index.wide)


@borrowing
def add_up(
    index: SearchArrays, g: int, x_indices: Ints, x_data: Floats, begin: int, end: int,
    hit_row: Longs, hit_at: Longs, total: Floats,
) -> int:  # fmt: skip
    """Sum an instance's values times the weights of cluster g, for all children (OUT total).

    Returns the number of blocks.
    """
    hits = find_rows(index, g, x_indices, begin, end, hit_row, hit_at)
    first = index.cluster[g, CODE_FIRST]
    n_blocks = blocks_of(index.cluster[g, CHILD_COUNT])
    if n_blocks == 1:
        add_one_block(index, first, hits, hit_row, hit_at, x_data, total)
        return n_blocks
    for block in range(n_blocks):
        store(total, block * LANES, splat(np.float32(0.0)))
    if n_blocks <= FULL_BLOCKS:
        add_full(index, first, n_blocks, hits, hit_row, hit_at, x_data, total)
    else:
        add_listed(index, first, hits, hit_row, hit_at, x_data, total)
    return n_blocks


@borrowing
def block_margins(index: SearchArrays, g: int, block: int, total: Floats) -> Vector:
    """Return the margins of 16 children, from the sums of `add_up`."""
    line = (index.cluster[g, BLOCK_FIRST] + block) * 2 * LANES
    return fma(
        load(total, block * LANES),
        load(index.block_line, line),
        load(index.block_line, line + LANES),
    )
