"""X as the kernels of grouped data read it, sparse or dense, with or without its mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.groups.candidates import Candidates
from multitudes.kernels.rows import ShiftedRows, SparseRows
from multitudes.kernels.sparse import measure_rows
from multitudes.types import FloatArray
from multitudes.validation import checked_features


def checked_instances(X: Any) -> Any:
    """X as float32, CSR or dense as it came; NaN, infinities and odd shapes are refused."""
    is_dense = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"
    if not is_dense:
        return checked_features(X)
    dense = np.ascontiguousarray(X, np.float32)
    if not np.isfinite(dense).all():
        row, feature = np.argwhere(~np.isfinite(dense))[0]
        raise DataError(
            f"X has the value {dense[row, feature]} at row {row}, feature {feature}: replace NaN "
            "and infinite values before training"
        )
    return dense


def instance_rows(X: Any, candidates: Candidates, *, contrast: bool) -> ShiftedRows:
    """What `learn_embeddings` reads.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features), as `checked_instances` returns it
    contrast : bool
        Take the mean over all groups' members off. A label's mean instance minus that of the
        groups without the label is the same direction, so this is what the label's groups have
        more of than the others.
    """
    n_instances = X.shape[0]
    if not contrast:
        return ShiftedRows(_rows(X), _lengths(X), np.zeros(n_instances, np.float32), 0.0)
    times = np.bincount(candidates.members, minlength=n_instances).astype(np.float64)
    mean = (X.T @ times) / max(times.sum(), 1.0)
    shift = np.asarray(X @ mean.astype(np.float32))
    square = float(mean @ mean)
    squares = np.square(_lengths(X), dtype=np.float64) - 2 * shift + square
    lengths = np.sqrt(np.maximum(squares, 0)).astype(np.float32)
    return ShiftedRows(_rows(X), lengths, shift, square)


def _rows(X: Any) -> SparseRows | FloatArray:
    is_sparse = sp.issparse(X)
    if not is_sparse:
        dense: FloatArray = X
        return dense
    columns = X.indices.astype(np.int32, copy=False).view(np.uint32)
    return SparseRows(X.indptr.astype(np.int64), columns, X.data)


def _lengths(X: Any) -> FloatArray:
    is_sparse = sp.issparse(X)
    if not is_sparse:
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", X, X)), np.float32)
    n = X.shape[0]
    lengths, unused = np.empty(n, np.float32), np.empty(n, np.float32)
    counts = np.empty(n, np.int64)
    measure_rows(X.indptr.astype(np.int64), X.data, 0.0, 0, n, lengths, unused, counts)
    return lengths
