"""X and Y checked once at the door: after this, kernels trust them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.types import FloatArray, Sparse


def checked_features(X: Any, *, n_features: int | None = None, name: str = "X") -> Sparse:
    """X as float32 CSR with sorted, unique indices; a dense array becomes CSR.

    Parameters
    ----------
    X : CSR, other sparse matrix, or array (n_instances, n_features)
    n_features : int, optional
        What a fitted model expects.
    """
    if not sp.issparse(X):
        X = _from_dense(X, name)
    if X.format != "csr":
        X = X.tocsr()
    if X.dtype != np.float32:
        if X.dtype.kind not in "fiub":
            raise DataError(f"{name} must hold real numbers, got dtype {X.dtype}")
        X = X.astype(np.float32)
    if n_features is not None and X.shape[1] != n_features:
        raise DataError(
            f"{name} has {X.shape[1]:,} features, but the model was trained on {n_features:,}: "
            "use the features object that made the training data"
        )
    _check_structure(X, name)
    if not np.isfinite(X.data).all():
        at = int(np.argmax(~np.isfinite(X.data)))
        row = int(np.searchsorted(X.indptr, at, side="right")) - 1
        raise DataError(
            f"{name} has the value {X.data[at]} at row {row}, feature {X.indices[at]}: "
            "replace NaN and infinite values before training"
        )
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def checked_labels(Y: Any, *, n_instances: int, n_labels: int | None = None) -> Sparse:
    """Y as a 0/1 CSR with sorted indices and no stored zeros."""
    if not sp.issparse(Y):
        array = np.asarray(Y)
        if array.ndim != 2:
            raise DataError(
                f"Y must be a (n_instances, n_labels) matrix, got shape {array.shape}: "
                "label lists become one with multitudes.Tagger"
            )
        Y = sp.csr_array(array)
    Y = sp.csr_array(Y)
    if Y.shape[0] != n_instances:
        raise DataError(
            f"X has {n_instances:,} rows and Y has {Y.shape[0]:,}: they must describe the same "
            "instances"
        )
    if n_labels is not None and Y.shape[1] != n_labels:
        raise DataError(f"Y has {Y.shape[1]:,} labels, but the model has {n_labels:,}")
    if Y.shape[1] == 0:
        raise DataError("Y has no labels (0 columns): there is nothing to learn")
    _check_structure(Y, "Y")
    if Y.nnz and not np.isfinite(Y.data).all():
        raise DataError(
            "Y has NaN or infinite values: it must hold 1 where an instance has a label"
        )
    if Y.nnz and Y.data.min() < 0:
        raise DataError("Y has negative values: it must hold 1 where an instance has a label")
    if not Y.has_canonical_format or (Y.nnz and Y.data.min() == 0):
        Y = Y.copy()
        Y.sum_duplicates()
        Y.eliminate_zeros()
    if Y.nnz == 0:
        raise DataError("no instance has a label: there is nothing to learn from")
    return Y


def checked_weights(weights: npt.ArrayLike | None, n: int, name: str) -> FloatArray | None:
    """Weights as float32, one per row, none negative or NaN."""
    if weights is None:
        return None
    array = np.asarray(weights, dtype=np.float32)
    if array.shape != (n,):
        raise DataError(f"{name} must have {n:,} entries, got shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise DataError(f"{name} must hold finite numbers >= 0")
    return array


def checked_label(label: Any, n_labels: int) -> int:
    """A label id of the model."""
    whole = isinstance(label, (int, np.integer)) and not isinstance(label, bool)
    if not whole or not 0 <= label < n_labels:
        raise DataError(f"label must be an id from 0 to {n_labels - 1:,}, got {label!r}")
    return int(label)


def checked_count(value: Any, name: str, *, at_least: int = 1) -> int:
    """A whole number from `at_least` up."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < at_least:
        raise ConfigError(f"{name} must be a whole number >= {at_least}, got {value!r}")
    return int(value)


def _from_dense(X: Any, name: str) -> Sparse:
    try:
        array = np.asarray(X, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} must be a sparse matrix or an array of numbers, got {type(X).__name__}: "
            "texts go through multitudes.Tagger or a features object first"
        ) from error
    if array.ndim != 2:
        raise DataError(
            f"{name} must be a (n_instances, n_features) matrix, got shape {array.shape}"
        )
    return sp.csr_array(array)


def _check_structure(matrix: Sparse, name: str) -> None:
    """Indices that point outside the matrix would make a kernel read foreign memory."""
    indices = matrix.indices
    if len(indices) and (indices.min() < 0 or indices.max() >= matrix.shape[1]):
        raise DataError(
            f"{name} has column index {max(indices.max(), -indices.min())} outside its "
            f"{matrix.shape[1]:,} columns: the matrix is corrupt"
        )
    indptr = matrix.indptr
    if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise DataError(f"{name} has row pointers that do not fit its values: it is corrupt")
