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
    indices: npt.NDArray[np.uint32]  # unsigned, or numba would look for negative ones
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


def gather_rows(rows, instances, local_of):
    """Rows of some instances, close together in memory, and the number that each has there.

    Features are numbered anew in the order they are met; `local_of`, uint32 (n_features,), is 0
    everywhere, and 0 again afterwards. Dense rows stay where they are.
    """


def n_stored(rows, instances):
    """How many values the rows of some instances have; 0 if they need no gathering."""


def add_row(rows, i, total):
    """Add row i to total, float32 (n_features,)."""


def clear_row(rows, i, total):
    """Set total to 0 wherever row i is not."""


def dot_row(rows, i, total):
    """Row i times total, in the order of its features."""


@overload(gather_rows)
def _gather_rows(rows, instances, local_of) -> Any:
    def sparse(rows, instances, local_of):
        n = instances.size
        numbers = np.empty(n, np.int32)
        indptr = np.empty(n + 1, np.int64)
        indptr[0] = 0
        for s in range(n):
            i = instances[s]
            numbers[s] = s
            indptr[s + 1] = indptr[s] + rows.indptr[i + 1] - rows.indptr[i]
        indices = np.empty(indptr[n], np.uint32)
        values = np.empty(indptr[n], np.float32)
        n_local = np.uint32(0)
        at = np.uint64(0)
        for s in range(n):
            i = instances[s]
            for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
                feature = rows.indices[k]
                if local_of[feature] == 0:
                    n_local += np.uint32(1)
                    local_of[feature] = n_local
                indices[at] = local_of[feature] - np.uint32(1)
                values[at] = rows.values[k]
                at += np.uint64(1)
        for s in range(n):
            i = instances[s]
            for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
                local_of[rows.indices[k]] = 0
        return SparseRows(indptr, indices, values), numbers

    def dense(rows, instances, local_of):
        return rows, instances

    return sparse if isinstance(rows, types.BaseTuple) else dense


@overload(n_stored)
def _n_stored(rows, instances) -> Any:
    def sparse(rows, instances):
        total = 0
        for i in instances:
            total += rows.indptr[i + 1] - rows.indptr[i]
        return total

    def dense(rows, instances):
        return 0

    return sparse if isinstance(rows, types.BaseTuple) else dense


@overload(add_row)
def _add_row(rows, i, total) -> Any:
    def sparse(rows, i, total):
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            total[rows.indices[k]] += rows.values[k]

    def dense(rows, i, total):
        for k in range(rows.shape[1]):
            total[k] += rows[i, k]

    return sparse if isinstance(rows, types.BaseTuple) else dense


@overload(clear_row)
def _clear_row(rows, i, total) -> Any:
    def sparse(rows, i, total):
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            total[rows.indices[k]] = 0

    def dense(rows, i, total):
        for k in range(rows.shape[1]):
            total[k] = 0

    return sparse if isinstance(rows, types.BaseTuple) else dense


@overload(dot_row)
def _dot_row(rows, i, total) -> Any:
    def sparse(rows, i, total):
        product = np.float32(0)
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            product += rows.values[k] * total[rows.indices[k]]
        return product

    def dense(rows, i, total):
        product = np.float32(0)
        for k in range(rows.shape[1]):
            product += rows[i, k] * total[k]
        return product

    return sparse if isinstance(rows, types.BaseTuple) else dense
