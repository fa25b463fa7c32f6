"""Sparse rows scaled to unit length, without the values too small to matter."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

Floats: TypeAlias = npt.NDArray[np.float32]
Columns: TypeAlias = npt.NDArray[np.uint32]
Offsets: TypeAlias = npt.NDArray[np.int64]

# A row is thinned only if what stays holds this part of its squared length.
ENOUGH = 0.9


@njit(cache=True, nogil=True)
def measure_rows(
    indptr: Offsets,  # IN  (n_rows + 1,)
    values: Floats,  # IN  (nnz,)
    min_weight: float,  # values below this part of their row's length are to go
    start: int,  # the first row to look at
    stop: int,  # past the last one
    lengths: Floats,  # OUT (n_rows,)
    smallest: Floats,  # OUT (n_rows,): the smallest value of the row that stays
    counts: Offsets,  # OUT (n_rows,): how many stay
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


@njit(cache=True, nogil=True)
def copy_rows(
    indptr: Offsets,  # IN  (n_rows + 1,)
    indices: Columns,  # IN  (nnz,)
    values: Floats,  # IN  (nnz,)
    lengths: Floats,  # IN  (n_rows,)
    smallest: Floats,  # IN  (n_rows,)
    start: int,  # the first row to copy
    stop: int,  # past the last one
    out_indptr: Offsets,  # IN  (n_rows + 1,)
    out_indices: Columns,  # OUT
    out_values: Floats,  # OUT
) -> None:
    """Copy what stays of each row, divided by the row's length."""
    for r in range(start, stop):
        scale = np.float32(1) / lengths[r] if lengths[r] > 0 else np.float32(0)
        at = np.uint64(out_indptr[r])
        for k in range(np.uint64(indptr[r]), np.uint64(indptr[r + 1])):
            if abs(values[k]) >= smallest[r]:
                out_indices[at] = indices[k]
                out_values[at] = values[k] * scale
                at += np.uint64(1)
