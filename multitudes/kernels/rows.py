"""Rows of X, sparse or dense alike, for kernels that only add rows up and multiply them.

A kernel takes `rows`, either `SparseRows` or a (n_instances, n_features) float32 array, and calls
these functions on it; numba compiles it once for each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload


class SparseRows(NamedTuple):
    """The three arrays of a CSR matrix."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]


class ShiftedRows(NamedTuple):
    """Rows from which another row, such as their mean, is taken off wherever they are multiplied.

    Parameters
    ----------
    rows : SparseRows, or float32 array (n_instances, n_features)
    lengths : float32 array (n_instances,)
        Of the shifted rows.
    shift : float32 array (n_instances,)
        Product of each row with the one taken off; 0 where none is.
    shift_square : float
        Squared length of the one taken off.
    """

    rows: Any
    lengths: npt.NDArray[np.float32]
    shift: npt.NDArray[np.float32]
    shift_square: float


def add_row(rows, i, total):
    """Add row i to total, float32 (n_features,)."""


def clear_row(rows, i, total):
    """Set total to 0 wherever row i is not."""


def dot_row(rows, i, total):
    """Row i times total, in the order of its features."""


@overload(add_row)
def _add_row(rows, i, total) -> Any:
    def sparse(rows, i, total):
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            total[rows.indices[k]] += rows.values[k]

    def dense(rows, i, total):
        for k in range(rows.shape[1]):
            total[k] += rows[i, k]

    return sparse if isinstance(rows, types.BaseTuple) else dense


@overload(clear_row)
def _clear_row(rows, i, total) -> Any:
    def sparse(rows, i, total):
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            total[rows.indices[k]] = 0

    def dense(rows, i, total):
        for k in range(rows.shape[1]):
            total[k] = 0

    return sparse if isinstance(rows, types.BaseTuple) else dense


@overload(dot_row)
def _dot_row(rows, i, total) -> Any:
    def sparse(rows, i, total):
        product = np.float32(0)
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            product += rows.values[k] * total[rows.indices[k]]
        return product

    def dense(rows, i, total):
        product = np.float32(0)
        for k in range(rows.shape[1]):
            product += rows[i, k] * total[k]
        return product

    return sparse if isinstance(rows, types.BaseTuple) else dense
