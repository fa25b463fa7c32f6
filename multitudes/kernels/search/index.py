"""The layout that beam search reads: the weights of all clusters as one stream.

A cluster's children are cut into blocks of 16 lanes. A row of the stream holds the weights of one
feature in one cluster: which lanes have one, as a mask for each block, and those weights alone, one
after another; a vector instruction spreads them over their lanes again. That is about as small as
the stored model and needs no scattered adding. It comes in two forms. A cluster of up to
`FULL_BLOCKS` blocks has the masks of all of them first, then all weights::

    mask, mask, ... mask, weight, weight, ...

A larger one has, for each block that is not empty, how many blocks it lies after the last one::

    gap, mask, weight, ..., gap, mask, weight, ...

All of it is uint16: weights as the bits of float16, or of float32 in two pieces (`wide`).

A bucket table beside each cluster's sorted features leads from a feature to the few rows where it
can be: bucket b starts at the first row whose feature is at least ``b << shift``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Array, Ints, Longs, Shorts
from multitudes.kernels.compiling import borrowing
from multitudes.kernels.lanes import LANES

FULL_BLOCKS = 8  # more are listed one by one
ROWS_PER_BUCKET = 4
LARGEST_GAP = (1 << 16) - 1

# Columns of `SearchArrays.cluster`: all that is known of a cluster in one line of the cache.
CHILD_FIRST = 0  # first child, counted within its own level
CHILD_COUNT = 1
BLOCK_FIRST = 2  # first block of 16 children
ROW_FIRST = 3  # its rows are followed by one that is none, where the last one ends
BUCKET_FIRST = 4
BUCKET_SHIFT = 5
CODE_FIRST = 6
N_COLUMNS = 8

# What kernels may read beyond the end, and do not use.
ROW_MARGIN = 5 * LANES
CODE_MARGIN = 4 * LANES


class SearchArrays(NamedTuple):
    """The whole tree as flat arrays; clusters are numbered through all levels."""

    level_start: Any  # int64 (depth + 1,): number of the first cluster of each level
    cluster: Any  # int64 (n_clusters, N_COLUMNS)
    block_mask: Any  # int32 (n_blocks,): which lanes hold a child that may be returned
    block_line: Any  # float32 (n_blocks * 32,): scale and bias of the 16 children of each block
    bucket: Any  # int32: first row of each bucket, counted from the cluster's first
    row_feature: Any  # int32
    row_start: Any  # uint32: where a row begins in the stream, counted from its cluster's first
    code: Any  # uint16: the stream
    slot_labels: Any  # int32 (n_slots,)
    largest_chunk: int  # blocks of the cluster with most children
    wide: int  # 1 where weights are float32, 0 where they are float16


@borrowing
def blocks_of(n_children: int) -> int:
    """Return how many blocks of 16 hold this many children."""
    return (n_children + LANES - 1) // LANES


@njit(nogil=True, cache=True)
def measure_chunks(
    chunk_row: Longs,  # IN (n_clusters + 1,), of one level
    row_entry: Longs,  # IN (n_rows + 1,)
    entry_child: Array,  # IN unsigned (n_entries,)
    child_count: Longs,  # IN (n_clusters,)
    n_features: int,  # IN
    units: int,  # IN: uint16 per weight
    shift: Longs,  # OUT (n_clusters,)
    buckets: Longs,  # OUT (n_clusters,)
    codes: Longs,  # OUT (n_clusters,): length of the stream
) -> None:
    """Count what each cluster of a level needs."""
    for c in range(child_count.size):
        first = chunk_row[c]
        last = chunk_row[c + 1]
        bits = 0
        while (n_features >> bits) * ROWS_PER_BUCKET > last - first + 1:
            bits += 1
        shift[c] = bits
        buckets[c] = (n_features >> bits) + 2
        n_blocks = blocks_of(child_count[c])
        codes[c] = units * (row_entry[last] - row_entry[first])
        if n_blocks <= FULL_BLOCKS:
            codes[c] += n_blocks * (last - first)
            continue
        for row in range(first, last):
            before: Any = np.int64(-1)
            for u in range(row_entry[row], row_entry[row + 1]):
                block = np.int64(entry_child[u]) // LANES
                if block != before:
                    codes[c] += 2 + 2 * ((block - max(before, 0)) // LARGEST_GAP)
                before = block


@borrowing
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


@borrowing
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
    return at


@njit(nogil=True, cache=True)
def fill_chunks(
    chunk_row: Longs,  # IN (n_clusters + 1,), of one level
    feature: Ints,  # IN (n_rows,)
    row_entry: Longs,  # IN (n_rows + 1,)
    entry_child: Array,  # IN unsigned (n_entries,)
    value: Shorts,  # IN (units * n_entries,)
    units: int,  # IN: uint16 per weight
    n_features: int,  # IN
    cluster: Array,  # IN int64 (n_clusters, N_COLUMNS): the level's own
    bucket: Ints,  # OUT, of the whole tree, as are those below
    row_feature: Ints,  # OUT
    row_start: Array,  # OUT uint32
    code: Shorts,  # OUT
) -> None:
    """Write the rows of one level's clusters."""
    for c in range(cluster.shape[0]):
        first = chunk_row[c]
        n_rows = chunk_row[c + 1] - first
        n_blocks = blocks_of(cluster[c, CHILD_COUNT])
        own_row = cluster[c, ROW_FIRST]
        own_bucket = cluster[c, BUCKET_FIRST]
        shift = cluster[c, BUCKET_SHIFT]
        at = cluster[c, CODE_FIRST]
        next_bucket = 0
        for row in range(n_rows):
            while next_bucket << shift <= feature[first + row]:
                bucket[own_bucket + next_bucket] = row
                next_bucket += 1
            row_feature[own_row + row] = feature[first + row]
            row_start[own_row + row] = at - cluster[c, CODE_FIRST]
            if n_blocks <= FULL_BLOCKS:
                at = write_full(
                    row_entry, entry_child, value, first + row, units, n_blocks, code, at
                )
            else:
                at = write_listed(row_entry, entry_child, value, first + row, units, code, at)
        row_feature[own_row + n_rows] = -1
        row_start[own_row + n_rows] = at - cluster[c, CODE_FIRST]
        for b in range(next_bucket, (n_features >> shift) + 2):
            bucket[own_bucket + b] = n_rows
