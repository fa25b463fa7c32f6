"""Rows of X, sparse or dense alike, for kernels that only add rows up and multiply them.

A kernel takes `rows`, either `SparseRows` or a (n_instances, n_features) float32 array, and calls
these functions on it; numba compiles it once for each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from multitudes.kernels.arrays import Floats, Longs, UInts
from multitudes.kernels.compiling import prefetch

AHEAD = 8  # rows between asking for one and using it


class SparseRows(NamedTuple):
    """The three arrays of a CSR matrix."""

    indptr: Longs
    indices: UInts  # unsigned, or numba would look for negative ones
    values: Floats


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
    lengths: Floats
    shift: Floats
    shift_square: float


def gather_rows(rows: Any, instances: Any, weights: Any, local_of: Any, total: Any) -> Any:
    """Rows of some instances, close together in memory, and their weighted sum (OUT total).

    Returns the rows, the number that each has there, and how many features they have. Features are
    numbered anew in the order they are met; `local_of`, uint32 (n_features,), is 0 everywhere, and
    0 again afterwards. Dense rows stay where they are.
    """


def n_stored(rows: Any, instances: Any) -> Any:
    """How many values the rows of some instances have; 0 if they need no gathering."""


def add_row(rows: Any, i: Any, weight: Any, total: Any) -> None:
    """Add row i, times a float32 weight, to total, float32 (n_features,)."""


def dot_row(rows: Any, i: Any, total: Any) -> Any:
    """Row i times total, in the order of its features."""


@overload(gather_rows)
def _gather_rows(rows: Any, instances: Any, weights: Any, local_of: Any, total: Any) -> Any:
    def sparse(rows: Any, instances: Any, weights: Any, local_of: Any, total: Any) -> Any:
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
        feature_of = np.empty(min(indptr[n], local_of.size), np.uint32)
        n_local = np.uint32(0)
        at = np.uint64(0)
        for s in range(n):
            if s + 2 * AHEAD < n:  # rows lie anywhere: ask for them early
                prefetch(rows.indptr, instances[s + 2 * AHEAD])
                ahead = rows.indptr[instances[s + AHEAD]]
                prefetch(rows.indices, ahead)
                prefetch(rows.values, ahead)
            i = instances[s]
            for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
                feature = rows.indices[k]
                local = local_of[feature]
                if local == 0:
                    feature_of[n_local] = feature
                    n_local += np.uint32(1)
                    local = n_local
                    local_of[feature] = local
                local -= np.uint32(1)
                indices[at] = local
                values[at] = rows.values[k]
                total[local] += weights[s] * rows.values[k]
                at += np.uint64(1)
        for f in range(n_local):
            local_of[feature_of[f]] = 0
        return SparseRows(indptr, indices, values), numbers, np.int64(n_local)

    def dense(rows: Any, instances: Any, weights: Any, local_of: Any, total: Any) -> Any:
        for s in range(instances.size):
            for k in range(rows.shape[1]):
                total[k] += weights[s] * rows[instances[s], k]
        return rows, instances, np.int64(local_of.size)

    return sparse if isinstance(rows, types.BaseTuple) else dense


@overload(n_stored)
def _n_stored(rows: Any, instances: Any) -> Any:
    def sparse(rows: Any, instances: Any) -> Any:
        total = 0
        for i in instances:
            total += rows.indptr[i + 1] - rows.indptr[i]
        return total

    def dense(rows: Any, instances: Any) -> Any:
        return 0

    return sparse if isinstance(rows, types.BaseTuple) else dense


@overload(add_row)
def _add_row(rows: Any, i: Any, weight: Any, total: Any) -> Any:
    def sparse(rows: Any, i: Any, weight: Any, total: Any) -> Any:
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            total[rows.indices[k]] += weight * rows.values[k]

    def dense(rows: Any, i: Any, weight: Any, total: Any) -> Any:
        for k in range(rows.shape[1]):
            total[k] += weight * rows[i, k]

    return sparse if isinstance(rows, types.BaseTuple) else dense


@overload(dot_row)
def _dot_row(rows: Any, i: Any, total: Any) -> Any:
    def sparse(rows: Any, i: Any, total: Any) -> Any:
        product = np.float32(0)
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            product += rows.values[k] * total[rows.indices[k]]
        return product

    def dense(rows: Any, i: Any, total: Any) -> Any:
        product = np.float32(0)
        for k in range(rows.shape[1]):
            product += rows[i, k] * total[k]
        return product

    return sparse if isinstance(rows, types.BaseTuple) else dense
