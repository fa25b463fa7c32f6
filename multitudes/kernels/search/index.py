"""The layout that beam search reads: chunks expanded for speed.

A chunk's children are cut into blocks of 16 lanes. A *dense* chunk (most clusters of upper levels)
keeps every row as whole blocks, so that a row is found by arithmetic and added with vector
instructions alone. A sparse chunk (most leaves) keeps a row's well-filled blocks as *segments* of
16 values and the rest as single *entries*.

A bucket table beside each chunk's sorted features leads from a feature to the few rows where it can
be: bucket b of a chunk starts at the first row whose feature is at least ``b << shift``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Array, Bytes, Ints, Longs, Shorts
from multitudes.kernels.lanes import LANES

SEGMENT_FROM = 6  # non-zeros of 16 from which a segment beats single entries
DENSE_FACTOR = 8  # a chunk is dense if its blocks hold at most this many values per non-zero
ROWS_PER_BUCKET = 2


@njit(nogil=True, cache=True)
def measure_chunks(
    chunk_row: Longs,  # IN (n_clusters + 1,)
    row_entry: Longs,  # IN (n_rows + 1,)
    entry_child: Shorts,  # IN (n_entries,)
    child_count: Longs,  # IN (n_clusters,)
    n_features: int,  # IN
    dense: Bytes,  # OUT (n_clusters,)
    shift: Bytes,  # OUT (n_clusters,)
    segments: Longs,  # OUT (n_clusters,)
    entries: Longs,  # OUT (n_clusters,)
    buckets: Longs,  # OUT (n_clusters,)
    filled: Ints,  # TMP (blocks of the largest cluster,): all 0, and 0 again afterwards
) -> None:
    """Decide each chunk's form and count what it needs."""
    for c in range(child_count.size):
        first = chunk_row[c]
        last = chunk_row[c + 1]
        n_blocks = (child_count[c] + LANES - 1) // LANES
        n_entries = row_entry[last] - row_entry[first]
        dense[c] = (last - first) * n_blocks * LANES <= DENSE_FACTOR * n_entries
        bits = 0
        while (n_features >> bits) * ROWS_PER_BUCKET > last - first + 1:
            bits += 1
        shift[c] = bits
        buckets[c] = (n_features >> bits) + 2
        segments[c] = 0
        entries[c] = 0
        if dense[c]:
            segments[c] = (last - first) * n_blocks
            continue
        for row in range(first, last):
            for u in range(row_entry[row], row_entry[row + 1]):
                filled[entry_child[u] // LANES] += 1
            for u in range(row_entry[row], row_entry[row + 1]):
                block = entry_child[u] // LANES
                if filled[block] >= SEGMENT_FROM:
                    segments[c] += 1
                else:
                    entries[c] += filled[block]
                filled[block] = 0


@njit(nogil=True, cache=True)
def fill_chunks(
    chunk_row: Longs,  # IN (n_clusters + 1,), within this level
    row_feature: Ints,  # IN (n_rows,)
    row_entry: Longs,  # IN (n_rows + 1,)
    entry_child: Shorts,  # IN (n_entries,)
    entry_value: Array,  # IN float32 (n_entries,)
    child_count: Longs,  # IN (n_clusters,)
    dense: Bytes,  # IN (n_clusters,)
    shift: Bytes,  # IN (n_clusters,)
    chunk_segment: Longs,  # IN (n_clusters,): first segment of each chunk
    chunk_entry: Longs,  # IN (n_clusters,)
    chunk_bucket: Longs,  # IN (n_clusters,)
    row_place: Longs,  # OUT (2 * (n_rows + 1),): first segment and first entry of each row
    segment_block: Shorts,  # OUT
    segment_value: Array,  # OUT float32, zero at the start
    index_child: Shorts,  # OUT
    index_value: Array,  # OUT float32
    bucket: Ints,  # OUT: first row of each bucket, counted from the chunk's first
    filled: Ints,  # TMP (blocks of the largest cluster,): all 0, and 0 again afterwards
) -> None:
    """Write the chunks of one level into the index."""
    for c in range(child_count.size):
        first = chunk_row[c]
        last = chunk_row[c + 1]
        n_blocks = (child_count[c] + LANES - 1) // LANES
        segment = chunk_segment[c]
        entry = chunk_entry[c]
        next_bucket = 0
        for row in range(first, last):
            while next_bucket << shift[c] <= row_feature[row]:
                bucket[chunk_bucket[c] + next_bucket] = row - first
                next_bucket += 1
            row_place[2 * row] = segment
            row_place[2 * row + 1] = entry
            if dense[c]:
                for u in range(row_entry[row], row_entry[row + 1]):
                    segment_value[segment * LANES + entry_child[u]] = entry_value[u]
                for block in range(n_blocks):
                    segment_block[segment + block] = block
                segment += n_blocks
                continue
            for u in range(row_entry[row], row_entry[row + 1]):
                filled[entry_child[u] // LANES] += 1
            current = -1
            for u in range(row_entry[row], row_entry[row + 1]):
                child: Any = np.int64(entry_child[u])
                block = child // LANES
                if filled[block] >= SEGMENT_FROM:
                    if block != current:
                        segment_block[segment] = block
                        segment += 1
                        current = block
                    segment_value[(segment - 1) * LANES + child % LANES] = entry_value[u]
                else:
                    index_child[entry] = entry_child[u]
                    index_value[entry] = entry_value[u]
                    entry += 1
            for u in range(row_entry[row], row_entry[row + 1]):
                filled[entry_child[u] // LANES] = 0
        row_place[2 * last] = segment
        row_place[2 * last + 1] = entry
        end = chunk_bucket[c + 1] if c + 1 < chunk_bucket.size else bucket.size
        for b in range(chunk_bucket[c] + next_bucket, end):
            bucket[b] = last - first
