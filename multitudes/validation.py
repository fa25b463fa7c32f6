"""Checks of inputs that all estimators share; what has passed them, kernels trust."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.types import FloatArray, IntArray, Sparse

__all__ = [
    "checked_count",
    "checked_features",
    "checked_hard_negatives",
    "checked_label",
    "checked_label_ids",
    "checked_labels",
    "checked_number",
    "checked_removal",
    "checked_weights",
    "label_matrix",
]

REAL = "fiub"  # kinds of numpy dtypes that hold real numbers


def checked_features(
    X: Any, *, n_features: int | None = None, name: str = "X", model: str = "the model"
) -> Sparse:
    """Return X as float32 CSR with sorted, unique indices; a dense array becomes CSR.

    Parameters
    ----------
    X : CSR, other sparse matrix, or array (n_instances, n_features)
    n_features : int, optional
        What a fitted model expects.
    name, model : str
        What messages call X and the model.
    """
    X = _as_csr(X, name, "n_features", "texts go through multitudes.Tagger or a features object")
    if X.dtype != np.float32:
        with np.errstate(over="ignore"):  # too large for float32 is infinite, which is refused
            X = X.astype(np.float32)
    if n_features is not None and X.shape[1] != n_features:
        raise DataError(
            f"{name} has {X.shape[1]:,} features, but {model} is expecting {n_features:,} features "
            "as input: use the features object that made the training data"
        )
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


def label_matrix(
    y: Any, *, n_instances: int, n_labels: int | None = None, name: str = "y"
) -> Sparse:
    """Return y as a 0/1 CSR with sorted indices and no stored zeros; it may be empty.

    Parameters
    ----------
    y : sparse matrix, array or list of lists (n_instances, n_labels)
        Any positive value counts as 1.
    n_instances : int
        Rows of X.
    n_labels : int, optional
        What a fitted model has.
    name : str
        What messages call it.
    """
    if y is None:
        raise DataError("a model requires y to be passed, but the target y is None")
    Y = _as_pattern(y, name)
    if Y.shape[0] != n_instances:
        raise DataError(
            f"X has {n_instances:,} rows and {name} has {Y.shape[0]:,}: they must describe the "
            "same instances"
        )
    if n_labels is not None and Y.shape[1] != n_labels:
        raise DataError(f"{name} has {Y.shape[1]:,} labels, but the model has {n_labels:,}")
    return Y


def checked_labels(y: Any, *, n_instances: int, n_labels: int | None = None) -> Sparse:
    """Return y as `label_matrix` does, and refuse one without any label."""
    Y = label_matrix(y, n_instances=n_instances, n_labels=n_labels)
    if Y.shape[1] == 0:
        raise DataError("y has no labels (0 columns): there is nothing to learn")
    if Y.nnz == 0:
        raise DataError("no instance has a label: at least one needs one")
    return Y


def checked_hard_negatives(given: Any, shape: tuple[int, int]) -> Sparse | None:
    """Return hard negatives, checked like labels; they may be empty."""
    if given is None:
        return None
    given = _as_pattern(given, "hard_negatives")
    if given.shape != shape:
        raise DataError(f"hard_negatives must have the shape of y, {shape}, got {given.shape}")
    return given


def checked_weights(weights: npt.ArrayLike | None, n: int, name: str) -> FloatArray | None:
    """Return weights as float32, one per row, none negative or NaN."""
    if weights is None:
        return None
    array = _as_array(weights)
    if array is None or array.shape != (n,):
        got = "rows of different lengths" if array is None else f"shape {array.shape}"
        raise DataError(f"{name} must have {n:,} entries, got {got}")
    if array.dtype.kind not in REAL:
        raise DataError(f"{name} must hold numbers, got dtype {array.dtype}")
    with np.errstate(over="ignore"):
        array = array.astype(np.float32)
    if not np.isfinite(array).all() or (array < 0).any():
        raise DataError(f"{name} must hold finite numbers >= 0")
    if not array.any():
        raise DataError(f"{name} is zero everywhere: there is nothing to learn from")
    return array


def checked_label(label: Any, n_labels: int) -> int:
    """Return a label id of the model."""
    whole = isinstance(label, (int, np.integer)) and not isinstance(label, bool)
    if not whole or not 0 <= label < n_labels:
        raise DataError(f"label must be an id from 0 to {n_labels - 1:,}, got {label!r}")
    return int(label)


def checked_label_ids(labels: npt.ArrayLike, n_labels: int) -> IntArray:
    """Return label ids of the model, in any order; there may be none."""
    array = _as_array(labels)
    if array is not None and array.size == 0:
        return np.zeros(0, np.int64)
    if array is None or array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(f"labels must be a list of label ids, got {labels!r}")
    outside = array[(array < 0) | (array >= n_labels)]
    if len(outside):
        raise DataError(f"labels must be ids from 0 to {n_labels - 1:,}, got {outside[0]}")
    return array.astype(np.int64)


def checked_removal(labels: npt.ArrayLike, n_labels: int) -> IntArray:
    """Return the labels to remove, ascending and each once; at least one must stay."""
    dropped = {checked_label(label, n_labels) for label in np.atleast_1d(labels).tolist()}
    if len(dropped) == n_labels:
        raise DataError("all labels would be removed: a model needs at least one")
    return np.array(sorted(dropped), np.int64)


def checked_count(value: Any, name: str, *, at_least: int = 1) -> int:
    """Return a whole number >= `at_least`."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < at_least:
        raise ConfigError(f"{name} must be a whole number >= {at_least}, got {value!r}")
    return int(value)


def checked_number(
    value: Any,
    name: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
) -> float:
    """Return a finite number within limits."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if (
        not is_number
        or not np.isfinite(value)
        or (at_least is not None and value < at_least)
        or (above is not None and value <= above)
        or (at_most is not None and value > at_most)
    ):
        limits = {">=": at_least, ">": above, "<=": at_most}
        allowed = " and ".join(f"{sign} {n}" for sign, n in limits.items() if n is not None)
        if at_least is not None and at_most is not None:
            allowed = f"from {at_least} to {at_most}"
        raise ConfigError(f"{name} must be a number {allowed}, got {value!r}")
    return float(value)


def _as_array(values: Any) -> npt.NDArray[Any] | None:
    """Return any array-like as an array; None if its rows have different lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        return None


def _as_csr(given: Any, name: str, columns: str, advice: str) -> Sparse:
    """Return a CSR matrix of real numbers of sound structure; from a dense array, in float32."""
    matrix: Any = given if sp.issparse(given) else _as_array(given)
    if matrix is None:
        raise DataError(_not_a_matrix(name, columns, "rows of different lengths", advice))
    if matrix.dtype.kind == "c":
        advice = "Complex data not supported"
    if matrix.dtype.kind not in REAL:
        raise DataError(_not_a_matrix(name, columns, f"dtype {matrix.dtype}", advice))
    if matrix.ndim == 1:
        advice = f"Reshape your data, e.g. {name}.reshape(1, -1) if it is a single instance"
    if matrix.ndim != 2:
        raise DataError(_not_a_matrix(name, columns, f"shape {matrix.shape}", advice))
    if isinstance(matrix, np.ndarray):
        with np.errstate(over="ignore"):  # too large for float32 is infinite, which is refused
            return sp.csr_array(matrix.astype(np.float32, copy=False))
    if matrix.format != "csr":
        matrix = _converted(matrix, name)
    _check_structure(matrix, name)
    return matrix


def _not_a_matrix(name: str, columns: str, got: str, advice: str) -> str:
    return (
        f"{name} must be a (n_instances, {columns}) sparse matrix or array of numbers, got {got}: "
        f"{advice}"
    )


def _as_pattern(matrix: Any, name: str) -> Sparse:
    """Return a 0/1 CSR with sorted indices and no stored zeros."""
    matrix = _as_csr(matrix, name, "n_labels", "lists of labels go through multitudes.Tagger")
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise DataError(
            f"{name} has NaN, infinite or negative values: it must hold 1 where an instance has "
            "a label"
        )
    matrix = sp.csr_array(matrix)
    if matrix.has_canonical_format and (matrix.data == 1).all():
        return matrix
    matrix = matrix.astype(np.float32)  # a copy
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data.fill(1)
    return matrix


def _converted(matrix: Sparse, name: str) -> Sparse:
    """Convert another sparse format to CSR; it is checked first, as scipy trusts its indices."""
    try:
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{name} is corrupt: {error}") from error
    return matrix.tocsr()


def _check_structure(matrix: Sparse, name: str) -> None:
    """Raise a DataError if an index points outside the matrix, because kernels do not check."""
    indices, indptr = matrix.indices, matrix.indptr
    for index in (indices.min(), indices.max()) if len(indices) else ():
        if not 0 <= index < matrix.shape[1]:
            raise DataError(
                f"{name} has column index {index} outside its {matrix.shape[1]:,} columns: "
                "the matrix is corrupt"
            )
    ends_fit = indptr[0] == 0 and indptr[-1] == len(indices) == len(matrix.data)
    if not ends_fit or (np.diff(indptr) < 0).any():
        raise DataError(f"{name} has row pointers that do not fit its values: it is corrupt")
