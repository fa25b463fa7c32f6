"""From term counts to weighted, sorted and normalized rows."""

from __future__ import annotations

import numpy as np

from multitudes.kernels.arrays import Array, Floats, Ints, Longs
from multitudes.kernels.compiling import allocating, kernel


@allocating
def weigh_rows(
    indptr: Array, ids: Ints, counts: Ints, columns: Ints, weights: Array, sublinear: bool,
    out_indptr: Array, out_indices: Ints, out_data: Floats,
) -> None:  # fmt: skip
    """Move counts to their columns, weigh them and sort each row by column.

    indptr       IN   int64 (n_rows + 1,)
    ids          IN   int32 (n_counts,), term ids, distinct within a row
    counts       IN   int32 (n_counts,)
    columns      IN   int32 (n_terms,), column of each term, -1 to drop it; empty: column = id
    weights      IN   float64 (n_columns,), idf of each column; empty: all 1
    sublinear    IN   bool, 1 + ln(count) instead of the count
    out_indptr   OUT  int32 or int64 (n_rows + 1,)
    out_indices  OUT  int32 (n_counts,), the first out_indptr[-1] are filled
    out_data     OUT  float32 (n_counts,)
    """
    n_out = 0
    out_indptr[0] = 0
    longest = 0
    for row in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    keys = np.empty(longest, np.int64)
    logs = np.log(np.arange(1, 65)) + 1.0
    for row in range(indptr.shape[0] - 1):
        n = np.int64(0)  # as a literal 0, `sort_keys` would be compiled for it
        for i in range(indptr[row], indptr[row + 1]):
            column = columns[ids[i]] if columns.shape[0] > 0 else ids[i]
            if column >= 0:
                # Column and count in one number: sorting it sorts both.
                keys[n] = (np.int64(column) << 32) | counts[i]
                n += 1
        sort_keys(keys, n)
        for i in range(n):
            column, count = keys[i] >> 32, keys[i] & 0xFFFFFFFF
            value = np.float64(count)
            if sublinear:
                value = logs[count - 1] if count <= 64 else np.log(value) + 1.0
            if weights.shape[0] > 0:
                value *= weights[column]
            out_indices[n_out] = column
            out_data[n_out] = value
            n_out += 1
        out_indptr[row + 1] = n_out


@kernel
def sort_keys(keys: Longs, n: int) -> None:
    """Sort keys[:n] in place; INOUT int64.

    Most rows are short, where insertion beats a general sort; longer ones are sorted with gaps
    (Shell's method), which numba compiles in a tenth of the time that its own sort takes.
    """
    gap = 1
    if n > 48:
        while gap < n // 9:
            gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            key = keys[i]
            j = i - gap
            while j >= 0 and keys[j] > key:
                keys[j + gap] = keys[j]
                j -= gap
            keys[j + gap] = key
        gap //= 3


@kernel
def normalize_rows(indptr: Array, data: Floats) -> None:
    """Scale each row to Euclidean length 1, in place; a row of zeros stays.

    indptr  IN     int32 or int64 (n_rows + 1,)
    data    INOUT  float32 (n_values,)
    """
    for row in range(indptr.shape[0] - 1):
        total = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            total += np.float64(data[i]) * np.float64(data[i])
        if total > 0.0:
            scale = 1.0 / np.sqrt(total)
            for i in range(indptr[row], indptr[row + 1]):
                data[i] *= scale


@kernel
def term_totals(ids: Ints, counts: Ints, document_counts: Longs, total_counts: Longs) -> None:
    """In how many rows each term occurs, and how often in all.

    ids              IN     int32 (n_counts,), distinct within a row
    counts           IN     int32 (n_counts,)
    document_counts  INOUT  int64 (n_terms,), added to
    total_counts     INOUT  int64 (n_terms,), added to
    """
    for i in range(ids.shape[0]):
        document_counts[ids[i]] += 1
        total_counts[ids[i]] += counts[i]
