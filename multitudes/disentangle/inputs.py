"""Checks of Y, M, C and counts; what has passed them, kernels trust."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.types import IntArray, LabelArray, Sparse


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
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise DataError(
            f"{name} must be a {axes} sparse matrix of numbers, got shape {matrix.shape} and "
            f"dtype {matrix.dtype}"
        )
    if is_sparse and hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)  # a kernel would read foreign memory
        except ValueError as error:
            raise DataError(f"{name} is corrupt: {error}") from error
    out: sp.csr_array[Any] = sp.csr_array(matrix, dtype=np.float32)
    if not np.isfinite(out.data).all() or (out.data < 0).any():
        raise DataError(f"{name} must hold finite numbers >= 0, it has NaN, infinite or negative")
    if not out.has_canonical_format or (out.data == 0).any():
        out = out.copy()
        out.sum_duplicates()
        out.eliminate_zeros()
    return out


def checked_pattern(matrix: Any, name: str, axes: str) -> sp.csr_array[Any]:
    """Return a 0/1 CSR with sorted indices; any positive value counts as 1."""
    out = checked_counts(matrix, name, axes)
    if (out.data == 1).all():
        return out
    ones = np.ones(out.nnz, np.float32)
    return sp.csr_array((ones, out.indices, out.indptr), shape=out.shape)


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
