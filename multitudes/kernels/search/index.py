"""The layout that beam search reads: the weights of all clusters as one stream.

A cluster's children are cut into blocks of 16 lanes. A row of the stream holds the weights of one
feature in one cluster: which lanes have one, as a mask for each block, and those weights alone, one
after another; a vector instruction spreads them over their lanes again. That is about as small as
the stored model and needs no scattered adding. It comes in two forms. A cluster of up to
`FULL_BLOCKS` blocks has the masks of all of them first, then all weights::

    mask, mask, ... mask, weight, weight, ...

A larger one has, for each block that is not empty, how many blocks it lies after the last one, and
two zeros at the end::

    gap, mask, weight, ..., gap, mask, weight, ..., 0, 0

All of it is uint16: weights as the bits of float16, or of float32 in two pieces (`wide`).

A feature is found in a cluster through a hash table whose groups fill a line of the cache each: 8
features, and where their 8 rows begin. So a lookup touches two lines, one of the table and one of
the stream, where rows of features that many clusters know lie first and together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitudes.kernels.arrays import Array, Bytes, Ints, Longs, Shorts
from multitudes.kernels.compiling import kernel, merged
from multitudes.kernels.lane_masks import MATCHED
from multitudes.kernels.lanes import LANES

FULL_BLOCKS = 12  # more are listed one by one
LARGEST_GAP = (1 << 16) - 1

GROUP = MATCHED  # features of a group of the hash table
GROUP_LINE = 2 * GROUP
ROWS_PER_GROUP = 5  # on average: fewer take more memory, more spill into the next group more often
NO_FEATURE = -1
HEATS = 4  # how many steps of frequency rows are sorted by

# Columns of `SearchArrays.cluster`: all that is known of a cluster in one line of the cache.
CHILD_FIRST = 0  # first child, counted within its own level
CHILD_COUNT = 1
BLOCK_FIRST = 2  # first block of 16 children
GROUP_FIRST = 3
GROUP_COUNT = 4
CODE_FIRST = 5
N_COLUMNS = 8

CODE_MARGIN = 4 * LANES  # what kernels may read beyond the end, and do not use


class SearchArrays(NamedTuple):
    """The whole tree as flat arrays; clusters are numbered through all levels."""

    level_start: Any  # int64 (depth + 1,): number of the first cluster of each level
    cluster: Any  # int64 (n_clusters, N_COLUMNS)
    block_mask: Any  # int32 (n_blocks,): which lanes hold a child that may be returned
    block_line: Any  # float32 (n_blocks * 32,): scale and bias of the 16 children of each block
    group: Any  # int32 (n_groups * 16,): 8 features, then where their rows begin in the stream,
    # as the bits of uint32, counted from the cluster's first
    code: Any  # uint16: the stream
    slot_labels: Any  # int32 (n_slots,)
    largest_chunk: int  # blocks of the cluster with most children
    wide: int  # 1 where weights are float32, 0 where they are float16


@merged
def blocks_of(n_children: int) -> int:
    """Return how many blocks of 16 hold this many children."""
    return (n_children + LANES - 1) // LANES


@merged
def group_of(feature: int, n_groups: int) -> np.uint64:
    """Return the group of a hash table in which a feature is looked for first."""
    mixed = np.uint64(np.uint32(feature) * np.uint32(2654435769)) & np.uint64(0xFFFFFFFF)
    return (mixed * np.uint64(n_groups)) >> np.uint64(32)


@kernel
def measure_chunks(
    chunk_row: Longs,  # IN (n_clusters + 1,), of one level
    row_entry: Longs,  # IN (n_rows + 1,)
    entry_child: Array,  # IN unsigned (n_entries,)
    child_count: Longs,  # IN (n_clusters,)
    units: int,  # IN: uint16 per weight
    codes: Longs,  # OUT (n_clusters,): length of the stream
) -> None:
    """Count what each cluster of a level needs."""
    for c in range(child_count.size):
        first = chunk_row[c]
        last = chunk_row[c + 1]
        n_blocks = blocks_of(child_count[c])
        codes[c] = units * (row_entry[last] - row_entry[first])
        if n_blocks <= FULL_BLOCKS:
            codes[c] += n_blocks * (last - first)
            continue
        codes[c] += 2 * (last - first)
        for row in range(first, last):
            before: Any = np.int64(-1)
            for u in range(row_entry[row], row_entry[row + 1]):
                block = np.int64(entry_child[u]) // LANES
                if block != before:
                    codes[c] += 2 + 2 * ((block - max(before, 0)) // LARGEST_GAP)
                before = block


@merged
def write_full(
    row_entry: Longs, entry_child: Array, value: Shorts, row: int, units: int, n_blocks: int,
    code: Shorts, at: int,
) -> int:  # fmt: skip
    """Write a row as masks of all blocks and its weights; returns where it ends."""
    for block in range(n_blocks):
        code[at + block] = 0
    masks = at
    at += n_blocks
    for u in range(row_entry[row], row_entry[row + 1]):
        child = np.int64(entry_child[u])
        code[masks + child // LANES] |= np.uint16(1 << (child % LANES))
        for unit in range(units):
            code[at] = value[units * u + unit]
            at += 1
    return at


@merged
def write_listed(
    row_entry: Longs, entry_child: Array, value: Shorts, row: int, units: int, code: Shorts, at: int
) -> int:
    """Write a row block by block; returns where it ends."""
    before: Any = np.int64(-1)
    mask = at
    for u in range(row_entry[row], row_entry[row + 1]):
        child = np.int64(entry_child[u])
        block = child // LANES
        if block != before:
            gap = block - max(before, 0)
            while gap >= LARGEST_GAP:  # a block without any weights on the way
                code[at] = LARGEST_GAP
                code[at + 1] = 0
                at += 2
                gap -= LARGEST_GAP
            code[at] = gap
            code[at + 1] = 0
            mask = at + 1
            at += 2
            before = block
        code[mask] |= np.uint16(1 << (child % LANES))
        for unit in range(units):
            code[at] = value[units * u + unit]
            at += 1
    code[at] = 0
    code[at + 1] = 0
    return at + 2


@merged
def enter_row(group: Ints, first: int, n_groups: int, feature: int, start: int) -> None:
    """Put a feature and where its row begins into the first group that has room."""
    g = np.int64(group_of(feature, n_groups))
    while group[(first + g) * GROUP_LINE + GROUP - 1] != NO_FEATURE:
        g = (g + 1) % n_groups
    at = (first + g) * GROUP_LINE
    while group[at] != NO_FEATURE:
        at += 1
    group[at] = feature
    group[at + GROUP] = np.int32(np.uint32(start))


@merged
def order_rows(heat: Bytes, feature: Ints, first: int, n_rows: int, order: Longs) -> None:
    """List the rows of a cluster by falling heat of their features, equal ones as they come."""
    at = 0
    for step in range(HEATS):
        for row in range(first, first + n_rows):
            if heat[feature[row]] == HEATS - 1 - step:
                order[at] = row
                at += 1


@kernel
def fill_chunks(
    chunk_row: Longs,  # IN (n_clusters + 1,), of one level
    feature: Ints,  # IN (n_rows,)
    row_entry: Longs,  # IN (n_rows + 1,)
    entry_child: Array,  # IN unsigned (n_entries,)
    value: Shorts,  # IN (units * n_entries,)
    units: int,  # IN: uint16 per weight
    heat: Bytes,  # IN (n_features,): how many clusters know a feature, from 0 to HEATS - 1
    cluster: Array,  # IN int64 (n_clusters, N_COLUMNS): the level's own
    order: Longs,  # TMP (rows of the largest cluster,)
    group: Ints,  # OUT, of the whole tree: NO_FEATURE at the start
    code: Shorts,  # OUT, of the whole tree
) -> None:
    """Write the rows of one level's clusters."""
    for c in range(cluster.shape[0]):
        n_rows = chunk_row[c + 1] - chunk_row[c]
        n_blocks = blocks_of(cluster[c, CHILD_COUNT])
        at = cluster[c, CODE_FIRST]
        order_rows(heat, feature, chunk_row[c], n_rows, order)
        for r in range(n_rows):
            row = order[r]
            enter_row(
                group, cluster[c, GROUP_FIRST], cluster[c, GROUP_COUNT], feature[row],
                at - cluster[c, CODE_FIRST],
            )  # fmt: skip
            if n_blocks <= FULL_BLOCKS:
                at = write_full(row_entry, entry_child, value, row, units, n_blocks, code, at)
            else:
                at = write_listed(row_entry, entry_child, value, row, units, code, at)
