"""Weighted sums of sparse rows, one per label: the product behind PIFA, in sorted order.

A label's sum is built in a dense accumulator; which columns it touched is kept as bits, one word
per 64 columns and above it one word per 4,096, so that reading the columns off in order needs no
sort and clearing costs only what was touched.
"""

from __future__ import annotations

import numpy as np

from multitudes.kernels.arrays import Floats, Ints, Longs, UInts, Words
from multitudes.kernels.compiling import kernel, prefetch

AHEAD = 8  # rows between asking for one and using it
# Position of the only set bit of a word: multiply by this and read the top six bits off a table.
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
BIT_POSITION = np.zeros(64, np.uint64)
BIT_POSITION[[((int(DE_BRUIJN) << bit) % (1 << 64)) >> 58 for bit in range(64)]] = np.arange(64)


def sum_rows_by_label(
    indptr: Longs,  # IN  (n_instances + 1,): rows of X
    indices: UInts,  # IN  (nnz,), each at most once in a row
    values: Floats,  # IN  (nnz,)
    label_indptr: Longs,  # IN  (n_labels + 1,): the instances of each label
    instances: Ints,  # IN
    weights: Floats,  # IN  like instances
    n_columns: int,
    out_indptr: Longs,  # OUT (n_labels + 1,)
    out_indices: UInts,  # OUT (long enough,), ascending within a label
    out_values: Floats,  # OUT like out_indices: rows of unit length, or zero
) -> None:
    """For each label the normalized sum of its instances' rows."""
    sum_rows(
        indptr, indices, values, label_indptr, instances, weights,
        np.zeros(n_columns, np.float32), np.zeros(n_columns // 64 + 1, np.uint64),
        np.zeros(n_columns // 4096 + 1, np.uint64), out_indptr, out_indices, out_values,
    )  # fmt: skip


@kernel
def sum_rows(
    indptr: Longs, indices: UInts, values: Floats,  # IN
    label_indptr: Longs, instances: Ints, weights: Floats,  # IN
    sums: Floats, words: Words, upper: Words,  # TMP: zeros before and after
    out_indptr: Longs, out_indices: UInts, out_values: Floats,  # OUT
) -> None:  # fmt: skip
    """What `sum_rows_by_label` does, in memory that is there."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    at, n_pairs = np.uint64(0), label_indptr[-1]
    out_indptr[0] = 0
    for label in range(len(label_indptr) - 1):
        for i in range(label_indptr[label], label_indptr[label + 1]):
            weight = weights[i]
            row = instances[i]
            # Rows of X lie anywhere; without this most of the time is spent waiting for them.
            if i + 2 * AHEAD < n_pairs:
                prefetch(indptr, instances[i + 2 * AHEAD])
                ahead = indptr[instances[i + AHEAD]]
                prefetch(indices, ahead)
                prefetch(values, ahead)
            for k in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
                column = np.uint64(indices[k])
                word = column >> six
                bits = words[word]
                if bits == 0:
                    upper[word >> six] |= one << (word & low)
                words[word] = bits | one << (column & low)
                sums[column] += weight * values[k]
        start = at
        square = np.float32(0)
        for top in range(len(upper)):
            block = upper[top]
            upper[top] = 0
            while block != 0:
                lowest = block & (~block + one)
                block ^= lowest
                word = (np.uint64(top) << six) | BIT_POSITION[(lowest * DE_BRUIJN) >> np.uint64(58)]
                bits = words[word]
                words[word] = 0
                while bits != 0:
                    lowest = bits & (~bits + one)
                    bits ^= lowest
                    column = (word << six) | BIT_POSITION[(lowest * DE_BRUIJN) >> np.uint64(58)]
                    total = sums[column]
                    sums[column] = 0
                    out_indices[at] = column
                    out_values[at] = total
                    square += total * total
                    at += one
        scale = np.float32(1 / np.sqrt(square)) if square > 0 else np.float32(0)
        for k in range(start, at):
            out_values[k] *= scale
        out_indptr[label + 1] = at
