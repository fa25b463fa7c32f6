"""Sparse matrices: rows become columns, and rows are scaled to unit length.

scipy's own conversion to columns may double the size of the indices; `transposed` keeps the
smallest types. Unit rows come without the values too small to matter.
"""

from __future__ import annotations

import numpy as np

from multitudes.kernels.arrays import Array, Floats, Ints, Longs, UInts
from multitudes.kernels.compiling import allocating, kernel

# A row is thinned only if what stays holds this part of its squared length.
ENOUGH = 0.9


@allocating
def transpose(
    indptr: Array,  # IN int32 or int64 (n_rows + 1,)
    indices: Array,  # IN whole numbers (nnz,)
    values: Array,  # IN (nnz,), or (0,) for a pattern
    out_indptr: Longs,  # OUT (n_columns + 1,)
    out_indices: Ints,  # OUT (nnz,): rows, ascending within a column
    out_values: Array,  # OUT (nnz,), or (0,) where values is
) -> None:
    """Write a CSR matrix as CSC, which is the CSR of its transpose."""
    for c in range(out_indptr.size):
        out_indptr[c] = 0
    for k in range(indices.size):
        out_indptr[indices[k] + 1] += 1
    for c in range(out_indptr.size - 1):
        out_indptr[c + 1] += out_indptr[c]
    following = out_indptr[:-1].copy()
    for row in range(indptr.size - 1):
        for k in range(indptr[row], indptr[row + 1]):
            at = following[indices[k]]
            following[indices[k]] += 1
            out_indices[at] = row
            if out_values.size > 0:
                out_values[at] = values[k]


def transposed(
    indptr: Array, indices: Array, values: Array | None, n_columns: int,
    dtype: type[np.generic] | None,
) -> tuple[Longs, Ints, Array]:  # fmt: skip
    """Return (indptr, indices, values) of the transpose; no values if dtype is None."""
    out_indptr = np.empty(n_columns + 1, np.int64)
    out_indices = np.empty(len(indices), np.int32)
    out_values: Array = np.empty(0 if dtype is None else len(indices), dtype or np.float32)
    if dtype is None:
        values = out_values
    transpose(indptr, indices, values, out_indptr, out_indices, out_values)
    return out_indptr, out_indices, out_values


@kernel
def measure_rows(
    indptr: Longs,  # IN  (n_rows + 1,)
    values: Floats,  # IN  (nnz,)
    min_weight: float,  # values below this part of their row's length are to go
    start: int,  # the first row to look at
    stop: int,  # past the last one
    lengths: Floats,  # OUT (n_rows,)
    smallest: Floats,  # OUT (n_rows,): the smallest value of the row that stays
    counts: Longs,  # OUT (n_rows,): how many stay
) -> None:
    """Each row's length, and what stays of it; a row of many small values stays whole."""
    for r in range(start, stop):
        square = 0.0
        for k in range(np.uint64(indptr[r]), np.uint64(indptr[r + 1])):
            square += values[k] * values[k]
        limit = np.float32(min_weight * np.sqrt(square))
        kept, kept_square = 0, 0.0
        for k in range(np.uint64(indptr[r]), np.uint64(indptr[r + 1])):
            if abs(values[k]) >= limit:
                kept += 1
                kept_square += values[k] * values[k]
        is_thinned = kept_square >= ENOUGH * square
        lengths[r] = np.sqrt(square)
        smallest[r] = limit if is_thinned else np.float32(0)
        counts[r] = kept if is_thinned else indptr[r + 1] - indptr[r]


@kernel
def copy_rows(
    indptr: Longs,  # IN  (n_rows + 1,)
    indices: UInts,  # IN  (nnz,)
    values: Floats,  # IN  (nnz,)
    lengths: Floats,  # IN  (n_rows,)
    smallest: Floats,  # IN  (n_rows,)
    start: int,  # the first row to copy
    stop: int,  # past the last one
    number: UInts,  # IN  (n_columns,): what each column is called, or (0,) to keep its name
    out_indptr: Longs,  # IN  (n_rows + 1,)
    out_indices: UInts,  # OUT
    out_values: Floats,  # OUT
) -> None:
    """Copy what stays of each row, divided by the row's length."""
    for r in range(start, stop):
        scale = np.float32(1) / lengths[r] if lengths[r] > 0 else np.float32(0)
        at = np.uint64(out_indptr[r])
        for k in range(np.uint64(indptr[r]), np.uint64(indptr[r + 1])):
            if abs(values[k]) >= smallest[r]:
                out_indices[at] = number[indices[k]] if number.size > 0 else indices[k]
                out_values[at] = values[k] * scale
                at += np.uint64(1)
