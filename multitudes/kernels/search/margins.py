"""Margins of a cluster's children: an instance's features are looked up, their weights added."""

from __future__ import annotations

import numpy as np

from multitudes.kernels.arrays import Floats, Ints, Shorts, Vector, Words
from multitudes.kernels.compiling import inlined, merged, prefetch
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
    CHILD_COUNT,
    CODE_FIRST,
    FULL_BLOCKS,
    GROUP,
    GROUP_COUNT,
    GROUP_FIRST,
    GROUP_LINE,
    NO_FEATURE,
    SearchArrays,
    blocks_of,
    group_of,
)


@merged
def fetch_groups(index: SearchArrays, g: int, x_indices: Ints, begin: int, end: int) -> None:
    """Start loading what `find_rows` will read."""
    first = np.uint64(index.cluster[g, GROUP_FIRST])
    n_groups = index.cluster[g, GROUP_COUNT]
    for t in range(np.uint64(begin), np.uint64(end)):
        prefetch(index.group, (first + group_of(x_indices[t], n_groups)) * np.uint64(GROUP_LINE))


@merged
def find_rows(
    index: SearchArrays, g: int, x_indices: Ints, begin: int, end: int, hit_code: Words,
    hit_at: Words,
) -> np.uint64:  # fmt: skip
    """Where the rows of cluster g begin that an instance's features meet; their number.

    Whether a feature was found is added up, not branched upon: lookups run side by side. Numbers
    are unsigned because numba would ask of others whether they count from the end.
    """
    first = np.uint64(index.cluster[g, GROUP_FIRST])
    n_groups = np.uint64(index.cluster[g, GROUP_COUNT])
    code = np.uint64(index.cluster[g, CODE_FIRST])
    line, last = np.uint64(GROUP_LINE), np.uint64(GROUP - 1)
    hits = np.uint64(0)
    for t in range(np.uint64(begin), np.uint64(end)):
        feature = x_indices[t]
        own = group_of(feature, n_groups)
        at = (first + own) * line
        found = matches(index.group, at, feature)
        while found == 0 and index.group[at + last] != NO_FEATURE:  # full: it may be in the next
            own = own + np.uint64(1) if own + np.uint64(1) < n_groups else np.uint64(0)
            at = (first + own) * line
            found = matches(index.group, at, feature)
        place = lowest_bit(found) & last
        row = code + np.uint64(np.uint32(index.group[at + place + np.uint64(GROUP)]))
        prefetch(index.code, row)
        hit_code[hits] = row
        hit_at[hits] = t
        hits += np.uint64(found != 0)
    return hits


@inlined
def spread(code: Shorts, at: int, mask: int, wide: int) -> Vector:
    """Return the weights from `at` on in the lanes of a mask."""
    if wide:
        return spread_floats(code, at, mask)
    return spread_halves(code, at, mask)


@merged
def add_one_block(
    index: SearchArrays, hits: int, hit_code: Words, hit_at: Words, x_data: Floats, total: Floats
) -> None:
    """Sum an instance's values times the rows of a cluster of one block, in registers."""
    even = splat(np.float32(0.0))
    odd = splat(np.float32(0.0))
    one = np.uint64(1)
    for pair in range(hits >> one):
        h = pair << one
        at = hit_code[h]
        weights = spread(index.code, at + one, index.code[at], index.wide)
        even = fma(splat(x_data[hit_at[h]]), weights, even)
        at = hit_code[h + one]
        weights = spread(index.code, at + one, index.code[at], index.wide)
        odd = fma(splat(x_data[hit_at[h + one]]), weights, odd)
    if hits & one:
        at = hit_code[hits - one]
        weights = spread(index.code, at + one, index.code[at], index.wide)
        even = fma(splat(x_data[hit_at[hits - one]]), weights, even)
    store(total, 0, even + odd)


@merged
def add_full(
    index: SearchArrays, n_blocks: int, hits: int, hit_code: Words, hit_at: Words, x_data: Floats,
    total: Floats,
) -> None:  # fmt: skip
    """Sum an instance's values times the rows of a cluster of a few blocks."""
    wide = np.uint64(index.wide)
    for h in range(hits):
        masks = hit_code[h]
        at = masks + np.uint64(n_blocks)
        value = splat(x_data[hit_at[h]])
        for block in range(np.uint64(n_blocks)):
            mask = index.code[masks + block]
            weights = spread(index.code, at, mask, index.wide)
            place = block * np.uint64(LANES)
            store(total, place, fma(value, weights, load(total, place)))
            at += bit_count(mask) << wide


@merged
def add_listed(
    index: SearchArrays, hits: int, hit_code: Words, hit_at: Words, x_data: Floats, total: Floats
) -> None:
    """Sum an instance's values times the rows of a cluster of many blocks."""
    wide, one, two = np.uint64(index.wide), np.uint64(1), np.uint64(2)
    for h in range(hits):
        at = hit_code[h]
        value = splat(x_data[hit_at[h]])
        place = np.uint64(0)
        while index.code[at] != 0 or index.code[at + one] != 0:
            place += np.uint64(LANES) * np.uint64(index.code[at])
            mask = index.code[at + one]
            weights = spread(index.code, at + two, mask, index.wide)
            store(total, place, fma(value, weights, load(total, place)))
            at += two + (bit_count(mask) << wide)


@inlined
def add_up(
    index: SearchArrays, g: int, x_indices: Ints, x_data: Floats, begin: int, end: int,
    hit_code: Words, hit_at: Words, total: Floats,
) -> int:  # fmt: skip
    """Sum an instance's values times the weights of cluster g, for all children (OUT total).

    Returns the number of blocks.
    """
    hits = find_rows(index, g, x_indices, begin, end, hit_code, hit_at)
    n_blocks = blocks_of(index.cluster[g, CHILD_COUNT])
    if n_blocks == 1:
        add_one_block(index, hits, hit_code, hit_at, x_data, total)
        return n_blocks
    for block in range(n_blocks):
        store(total, block * LANES, splat(np.float32(0.0)))
    if n_blocks <= FULL_BLOCKS:
        add_full(index, n_blocks, hits, hit_code, hit_at, x_data, total)
    else:
        add_listed(index, hits, hit_code, hit_at, x_data, total)
    return n_blocks


@merged
def block_margins(index: SearchArrays, g: int, block: int, total: Floats) -> Vector:
    """Return the margins of 16 children, from the sums of `add_up`."""
    line = (index.cluster[g, BLOCK_FIRST] + block) * 2 * LANES
    return fma(
        load(total, block * LANES),
        load(index.block_line, line),
        load(index.block_line, line + LANES),
    )
