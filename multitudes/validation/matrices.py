"""X, Y, pairs and other matrices: what all estimators take, as kernels trust it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from multitudes import memory
from multitudes.errors import DataError
from multitudes.scikit_learn import sparse as sp
from multitudes.types import Sparse
from multitudes.validation.arrays import REAL, as_array
from multitudes.validation.passes import first_not_finite
from multitudes.validation.sparse import own_csr, shape_and_dtype, with_values, without_zeros

if TYPE_CHECKING:
    from multitudes.kernels.threads import ThreadTeam

BYTES_PER_COLUMN = 16  # that training takes at least, however few of them are used


def checked_features(
    X: Any,
    *,
    n_features: int | None = None,
    name: str = "X",
    model: str = "the model",
    team: ThreadTeam | None = None,
) -> Sparse:
    """Return X as float32 CSR with sorted, unique indices; a dense array becomes CSR.

    Parameters
    ----------
    X : CSR, other sparse matrix, or array (n_instances, n_features)
    n_features : int, optional
        What a fitted model expects.
    name, model : str
        What messages call X and the model.
    team : ThreadTeam, optional
        Whose threads check a large X together; without one, the caller's thread does.
    """

    def check_width(width: int) -> None:
        if n_features is None:
            ask_for_columns(width, name, "features")
        elif width != n_features:
            raise DataError(
                f"{name} has {width:,} features, but {model} is expecting {n_features:,} features "
                "as input: use the features object that made the training data"
            )

    advice = "texts go through multitudes.Tagger or a features object"
    X = _as_csr(X, name, "n_features", advice, check_width=check_width, team=team)
    _check_finite(X, name, team)
    return X


def checked_vectors(vectors: Any, *, name: str) -> Any:
    """Return vectors as float32: a sparse matrix as CSR, anything else as a dense array.

    Parameters
    ----------
    vectors : sparse matrix or array (n, any width)
    name : str
        What messages call them.
    """
    is_sparse: bool = sp.issparse(vectors)
    if is_sparse:
        return checked_features(vectors, name=name)
    dense = as_array(vectors)
    if dense is None or dense.ndim != 2 or dense.dtype.kind not in REAL:
        got = "something else" if dense is None else f"{dense.dtype} of shape {dense.shape}"
        raise DataError(f"{name} must be a matrix of numbers, one row each, got {got}")
    memory.ask(4 * dense.size, f"{name} of shape {dense.shape}")
    with np.errstate(over="ignore"):
        dense = np.ascontiguousarray(dense, dtype=np.float32)
    at = first_not_finite(dense)
    if at >= 0:
        row, column = divmod(at, dense.shape[1])
        raise DataError(
            f"{name} has the value {dense[row, column]} at row {row}, feature {column}: replace "
            "NaN and infinite values before training"
        )
    return dense


def checked_sparse(matrix: Any, *, name: str, axes: str = "two-dimensional") -> Sparse:
    """Return a sparse matrix of numbers as CSR, sorted, each place once, without stored zeros.

    Parameters
    ----------
    matrix : sparse matrix of any form
    name, axes : str
        What messages call it and its shape, e.g. "(n_instances, n_groups)".
    """
    is_sparse: bool = sp.issparse(matrix)
    if not is_sparse:
        raise DataError(f"{name} must be a {axes} scipy sparse array, got {type(matrix).__name__}")
    shape, dtype = shape_and_dtype(matrix, name)
    if len(shape) != 2 or dtype.kind not in REAL:
        raise DataError(f"{name} must be a {axes} matrix of numbers, got {dtype} of shape {shape}")
    ask_for_columns(shape[1], name, "columns")
    return without_zeros(own_csr(matrix, name))


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
    if n_labels is None:
        ask_for_columns(Y.shape[1], name, "labels")
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


def checked_pairs(pairs: Any, shape: tuple[int, int]) -> Sparse:
    """Return (instance, label) pairs as a CSR of ones, stored wherever `pairs` is.

    Parameters
    ----------
    pairs : sparse matrix (n_instances, n_labels)
        Stored wherever something is wanted; values do not matter, and may be zero.
    shape : (int, int)
        What its shape must be.
    """
    is_sparse: bool = sp.issparse(pairs)
    given = shape_and_dtype(pairs, "pairs")[0] if is_sparse else None
    if given != shape:
        got = f"shape {given}" if is_sparse else type(pairs).__name__
        raise DataError(
            f"pairs must be a sparse matrix (n_instances, n_labels) = {shape} that is stored "
            f"wherever a score is wanted, got {got}"
        )
    pattern = _as_csr(pairs, "pairs", "n_labels", "give 1 wherever a score is wanted")
    return with_values(pattern, np.ones(len(pattern.data), np.float32))


def checked_truth(truth: Any, *, name: str = "the truth") -> Sparse:
    """Return true labels as CSR with sorted indices, each label once, no stored zeros.

    Parameters
    ----------
    truth : sparse matrix or array (n_instances, n_labels)
        Non-zero where a label is true.
    name : str
        What messages call it.
    """
    matrix = _as_csr(
        truth,
        name,
        "n_labels",
        "it must hold 1 where a label is true",
        check_width=lambda width: ask_for_columns(width, name, "labels"),
        dtype=None,
    )
    _check_finite(matrix, name)
    return without_zeros(matrix)


def _as_csr(
    given: Any,
    name: str,
    columns: str,
    advice: str,
    *,
    check: Callable[[Any], None] | None = None,
    check_width: Callable[[int], None] | None = None,
    dtype: Any = np.float32,
    team: ThreadTeam | None = None,
) -> Sparse:
    """Return a CSR of sound structure; its values, floats of `dtype` or any, may be anything.

    `check_width` is called with the number of columns before anything is converted, `check` with
    the values before those of one place are added up.
    """
    is_sparse: bool = sp.issparse(given)
    if is_sparse:
        shape, found = shape_and_dtype(given, name)
    else:
        given = as_array(given)
        if given is None:
            raise DataError(_not_a_matrix(name, columns, "rows of different lengths", advice))
        shape, found = given.shape, given.dtype
    if found.kind == "c":
        advice = "Complex data not supported"
    if found.kind not in REAL:
        raise DataError(_not_a_matrix(name, columns, f"dtype {found}", advice))
    if len(shape) == 1:
        advice = f"Reshape your data, e.g. {name}.reshape(1, -1) if it is a single instance"
    if len(shape) != 2:
        raise DataError(_not_a_matrix(name, columns, f"shape {shape}", advice))
    if check_width is not None:
        check_width(int(shape[1]))
    if dtype is None:
        dtype = found if found == np.float64 else np.float32  # whole numbers might overflow
    if not is_sparse:
        given = dense_rows(given, name, dtype)
    return own_csr(given, name, dtype=dtype, check=check, team=team)


def dense_rows(dense: Any, name: str, dtype: Any = None) -> Sparse:
    """Return a dense two-dimensional array of numbers as CSR."""
    # An array may be larger than memory: one number, broadcast.
    memory.ask(dense.size, f"{name} of shape {dense.shape}, dense", advice="give a sparse matrix")
    if dtype is None:  # SciPy takes neither foreign byte orders nor float16
        dtype = np.float32 if dense.dtype == np.float16 else dense.dtype.newbyteorder("=")
    with np.errstate(over="ignore"):  # too large for float32 is infinite, which is refused
        return sp.csr_array(dense.astype(dtype, copy=False))


def _not_a_matrix(name: str, columns: str, got: str, advice: str) -> str:
    return (
        f"{name} must be a (n_instances, {columns}) sparse matrix or array of numbers, got {got}: "
        f"{advice}"
    )


def _as_pattern(matrix: Any, name: str) -> Sparse:
    """Return a 0/1 CSR with sorted indices and no stored zeros."""

    def check(values: Any) -> None:
        if not (np.isfinite(values) & (values >= 0)).all():
            raise DataError(
                f"{name} has NaN, infinite or negative values: it must hold 1 where an instance "
                "has a label"
            )

    advice = "lists of labels go through multitudes.Tagger"
    matrix = without_zeros(_as_csr(matrix, name, "n_labels", advice, check=check))
    if (matrix.data == 1).all():
        return matrix
    return with_values(matrix, np.ones(len(matrix.data), np.float32))


def _check_finite(matrix: Sparse, name: str, team: ThreadTeam | None = None) -> None:
    at = first_not_finite(matrix.data, team)
    if at >= 0:
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        raise DataError(
            f"{name} has the value {matrix.data[at]} at row {row}, feature {matrix.indices[at]}: "
            "replace NaN and infinite values before training"
        )


def ask_for_columns(n_columns: int, name: str, what: str) -> None:
    """Ask for what training needs for each column, used or not."""
    memory.ask(
        BYTES_PER_COLUMN * n_columns,
        f"{name} with {n_columns:,} {what}",
        advice=f"number the {what} that occur, from 0 on",
    )
