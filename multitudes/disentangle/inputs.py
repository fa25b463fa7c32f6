"""Checks of Y, M, C and counts; what has passed them, kernels trust."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.types import IntArray, LabelArray, Sparse
from multitudes.validation.arrays import REAL
from multitudes.validation.matrices import ask_for_columns, dense_rows
from multitudes.validation.sparse import own_csr, shape_and_dtype, with_values, without_zeros


def checked_counts(matrix: Any, name: str, axes: str) -> sp.csr_array[Any]:
    """Return a float32 CSR with sorted indices, values > 0 and none stored twice.

    Parameters
    ----------
    matrix : sparse matrix or array
    name : str
        What a message calls it.
    axes : str
        Its shape in words, e.g. "(n_labels, n_clusters)".
    """
    is_sparse = sp.issparse(matrix)
    if not is_sparse and not isinstance(matrix, np.ndarray):
        raise DataError(f"{name} must be a {axes} sparse matrix, got {type(matrix).__name__}")
    shape, dtype = shape_and_dtype(matrix, name)
    if len(shape) != 2 or dtype.kind not in REAL:
        raise DataError(
            f"{name} must be a {axes} sparse matrix of numbers, got shape {shape} and dtype {dtype}"
        )

    ask_for_columns(shape[1], name, "columns")

    def check(values: Any) -> None:
        if not (np.isfinite(values) & (values >= 0)).all():
            raise DataError(
                f"{name} must hold finite numbers >= 0, it has NaN, infinite or negative"
            )

    if not is_sparse:
        matrix = dense_rows(matrix, name)
    out: sp.csr_array[Any] = own_csr(matrix, name, dtype=np.float32, check=check)
    check(out.data)  # sums may be infinite
    kept: sp.csr_array[Any] = without_zeros(out)
    return kept


def checked_pattern(matrix: Any, name: str, axes: str) -> sp.csr_array[Any]:
    """Return a 0/1 CSR with sorted indices; any positive value counts as 1."""
    out = checked_counts(matrix, name, axes)
    if (out.data == 1).all():
        return out
    ones: sp.csr_array[Any] = with_values(out, np.ones(len(out.data), np.float32))
    return ones


def checked_assignment(
    matrix: Any, name: str, *, n_labels: int | None = None, n_clusters: int | None = None
) -> sp.csr_array[Any]:
    """Return C as a 0/1 CSR (n_labels, n_clusters) in which every label has a cluster."""
    out = checked_pattern(matrix, name, "(n_labels, n_clusters)")
    expected = (
        out.shape[0] if n_labels is None else n_labels,
        out.shape[1] if n_clusters is None else n_clusters,
    )
    if out.shape != expected:
        raise DataError(f"{name} must be (n_labels, n_clusters) = {expected}, got {out.shape}")
    nowhere = np.flatnonzero(np.diff(out.indptr) == 0)
    if len(nowhere):
        raise DataError(
            f"{len(nowhere)} labels of {name} are in no cluster, the first is label {nowhere[0]}: "
            "every label must be in at least one"
        )
    return out


def rows_of(matrix: Sparse) -> tuple[IntArray, LabelArray]:
    """Return (indptr, indices) in the dtypes the kernels are compiled for."""
    return matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False)
