"""Rows become columns, in the smallest types: scipy's own conversion may double the indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit


@njit(nogil=True, cache=True)
def transpose(
    indptr,  # IN int32 or int64 (n_rows + 1,)
    indices,  # IN whole numbers (nnz,)
    values,  # IN (nnz,), or (0,) for a pattern
    out_indptr,  # OUT int64 (n_columns + 1,)
    out_indices,  # OUT int32 (nnz,): rows, ascending within a column
    out_values,  # OUT (nnz,), or (0,) where values is
):
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
    indptr: npt.NDArray[Any],
    indices: npt.NDArray[Any],
    values: npt.NDArray[Any] | None,
    n_columns: int,
    dtype: type[np.generic] | None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]:
    """(indptr, indices, values) of the transpose; values of a type, or none where dtype is None."""
    out_indptr = np.empty(n_columns + 1, np.int64)
    out_indices = np.empty(len(indices), np.int32)
    out_values: npt.NDArray[Any] = np.empty(
        0 if dtype is None else len(indices), dtype or np.float32
    )
    if dtype is None:
        values = out_values
    transpose(indptr, indices, values, out_indptr, out_indices, out_values)
    return out_indptr, out_indices, out_values
