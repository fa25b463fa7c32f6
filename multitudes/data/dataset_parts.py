"""Checks of what a Dataset is made of: matrices, strings, pairs, rows, groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.files.texts import StoredTexts
from multitudes.types import Sparse
from multitudes.validation.sparse import own_csr


def canonical(name: str, matrix: Sparse) -> Sparse:
    """Return a float32 CSR array with sorted, unique indices; `matrix` itself if it is one."""
    if matrix is None:
        return None
    is_sparse: bool = sp.issparse(matrix)
    if not is_sparse:
        raise DataError(
            f"{name} must be a scipy sparse array, got {type(matrix).__name__}: "
            "wrap it in scipy.sparse.csr_array"
        )
    matrix = own_csr(matrix, name, dtype=np.float32, copy=False)
    if not np.isfinite(matrix.data).all():
        row = int(
            np.searchsorted(matrix.indptr, np.flatnonzero(~np.isfinite(matrix.data))[0], "right")
        )
        raise DataError(f"{name} must be finite, got NaN or infinity in row {row - 1}")
    return matrix


def strings(name: str, values: Sequence[str] | None) -> Sequence[str] | None:
    """Return strings as a tuple, or stored texts as such; `name` is what messages call them."""
    if values is None or isinstance(values, StoredTexts):
        return values
    if isinstance(values, str):
        raise DataError(f"{name} must be a sequence of strings, got one string: {values[:50]!r}")
    if sp.issparse(values):
        raise DataError(f"{name} must be a sequence of strings, got a sparse matrix")
    found = tuple(values)
    kinds = set(map(type, found))
    if not all(issubclass(kind, str) for kind in kinds):
        place = next(i for i, value in enumerate(found) if not isinstance(value, str))
        raise DataError(f"{name} must be strings, got {found[place]!r} at position {place}")
    return found


def taken_texts(texts: Sequence[str] | None, ids: npt.NDArray[np.int64]) -> Sequence[str] | None:
    """Return some of the texts; stored ones stay where they are."""
    if texts is None or isinstance(texts, StoredTexts):
        return None if texts is None else texts.take(ids)
    return tuple(texts[i] for i in ids)


def pairs_of(pairs: npt.ArrayLike | None, shape: tuple[int, int]) -> npt.NDArray[np.int64] | None:
    """Return (instance, label) pairs inside a matrix of this shape as int64 (n_pairs, 2)."""
    if pairs is None:
        return None
    array = np.asarray(pairs)
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise DataError(
            "filter_pairs must be an integer array (n_pairs, 2) of instance and label, "
            f"got shape {array.shape} of {array.dtype}"
        )
    outside = (array < 0) | (array >= np.array(shape))
    if outside.any():
        place = int(np.flatnonzero(outside.any(axis=1))[0])
        raise DataError(
            f"filter pair {place} is (instance, label) {tuple(array[place].tolist())}; expected "
            f"instances below {shape[0]:,} and labels below {shape[1]:,}"
        )
    return array.astype(np.int64, copy=False)


def row_ids(rows: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
    """Return the rows of n that a list of numbers or a mask names."""
    array = np.asarray(rows)
    if array.dtype == bool:
        if array.shape != (n,):
            raise DataError(f"a mask must have one entry per instance ({n}), got {array.shape}")
        return np.flatnonzero(array)
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            "rows must be a list of instance numbers or a mask, "
            f"got shape {array.shape} of {array.dtype}"
        )
    if array.min() < 0 or array.max() >= n:
        bad = array[(array < 0) | (array >= n)][0]
        raise DataError(f"instance {bad} does not exist; expected 0 to {n - 1}")
    return array.astype(np.int64)


def check_length(name: str, values: Sequence[str] | None, expected: int, what: str) -> None:
    """Refuse values that are not as many as expected."""
    if values is not None and len(values) != expected:
        raise DataError(f"{name} must have one entry per {what} ({expected}), got {len(values)}")


def check_shape(name: str, matrix: Sparse | None, axis: int, expected: int, what: str) -> None:
    """Refuse a matrix that has not as many rows or columns as expected."""
    if matrix is not None and matrix.shape[axis] != expected:
        raise DataError(f"{name} must have one {what} ({expected}), got {matrix.shape[axis]}")


def check_groups(groups: Sparse | None, group_labels: Sparse | None) -> None:
    """Refuse memberships other than 0 and 1, and counts that are not whole numbers >= 0.

    Parameters
    ----------
    groups : CSR (n_instances, n_groups), optional
    group_labels : CSR (n_groups, n_labels), optional
    """
    if groups is not None:
        bad = (groups.data != 0) & (groups.data != 1)
        if bad.any():
            row, column, value = _first(groups, bad)
            raise DataError(
                f"groups must hold 1 where an instance is in a group, got {value:g} for instance "
                f"{row} and group {column}"
            )
    if group_labels is not None:
        counts = group_labels.data
        bad = (counts < 0) | (counts != np.rint(counts)) | np.isinf(counts)
        if bad.any():
            row, column, value = _first(group_labels, bad)
            raise DataError(
                "group_labels must hold how many instances of a group have a label, whole numbers "
                f">= 0, got {value:g} for group {row} and label {column}: write 1 where only the "
                "set of labels is known"
            )


def _first(matrix: Sparse, marked: npt.NDArray[np.bool_]) -> tuple[int, int, float]:
    """Return (row, column, value) of the first marked entry of a CSR matrix."""
    at = int(np.argmax(marked))
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    return row, int(matrix.indices[at]), float(matrix.data[at])
