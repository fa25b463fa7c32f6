"""Dataset: instances, their labels, and what is known about both. Immutable."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.data.report import ReadReport
from multitudes.errors import DataError
from multitudes.types import Sparse


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Dataset:
    """Instances with labels, from any file format.

    Fields cannot be replaced, and sequences are kept as tuples; `take`, slices and
    `with_labels` return new Datasets. Matrices become float32 CSR with sorted int32 indices, copied
    only if they are not that already, so do not write into them. (They are not locked: compiled
    kernels and scikit-learn treat locked arrays as another type.)

    Parameters
    ----------
    Y : CSR (n_instances, n_labels), float32
        1 where an instance has a label. Rows may be empty.
    texts : sequence of str, optional
        One text per instance; `texts` or `X` must be given.
    X : CSR (n_instances, n_features), float32, optional
        Features, if the file holds features instead of text.
    label_names : sequence of str, optional
        The user's names of the labels; defaults to the ids as strings.
    label_texts : sequence of str, optional
        A description of each label.
    label_titles : sequence of str, optional
        What each label is called by people, if its name is e.g. a URI.
    uids : sequence of str, optional
        The user's own instance ids.
    groups : CSR (n_instances, n_groups), optional
        1 where an instance belongs to a group; it may belong to several.
    group_labels : CSR (n_groups, n_labels), optional
        How often each group lists a label: how many of its instances have it.
    group_names : sequence of str, optional
        The user's own group ids.
    filter_pairs : int array (n_pairs, 2), optional
        (instance, label) pairs to leave out of predictions, e.g. a page that is itself a label.
    feature_names : sequence of str, optional
        Names of the columns of X.
    report : ReadReport, optional
        What the reader left out, if the Dataset comes from a file.
    """

    Y: sp.csr_array[Any]
    texts: Sequence[str] | None = None
    X: sp.csr_array[Any] | None = None
    label_names: Sequence[str] | None = None
    label_texts: Sequence[str] | None = None
    label_titles: Sequence[str] | None = None
    uids: Sequence[str] | None = None
    groups: sp.csr_array[Any] | None = None
    group_labels: sp.csr_array[Any] | None = None
    group_names: Sequence[str] | None = None
    filter_pairs: npt.NDArray[np.int64] | None = None
    feature_names: Sequence[str] | None = None
    report: ReadReport | None = None

    def __post_init__(self) -> None:
        if self.texts is None and self.X is None:
            raise DataError("a Dataset needs texts or X (features), got neither")
        for name in ("Y", "X", "groups", "group_labels"):
            self._set(name, _canonical(name, getattr(self, name)))
        for name in (
            "texts",
            "uids",
            "label_names",
            "label_texts",
            "label_titles",
            "group_names",
            "feature_names",
        ):
            self._set(name, _strings(name, getattr(self, name)))
        self._set("filter_pairs", _pairs(self.filter_pairs, self.Y.shape))
        self._check_sizes()

    def _set(self, name: str, value: object) -> None:
        if value is not getattr(self, name):
            object.__setattr__(self, name, value)

    def _check_sizes(self) -> None:
        n, n_labels = self.Y.shape
        _check_length("texts", self.texts, n, "instance")
        _check_length("uids", self.uids, n, "instance")
        _check_length("label_names", self.label_names, n_labels, "label")
        _check_length("label_texts", self.label_texts, n_labels, "label")
        _check_length("label_titles", self.label_titles, n_labels, "label")
        _check_shape("X", self.X, 0, n, "row per instance")
        _check_shape("groups", self.groups, 0, n, "row per instance")
        if self.X is not None:
            _check_length("feature_names", self.feature_names, self.X.shape[1], "feature")
        if self.groups is not None:
            n_groups = self.groups.shape[1]
            _check_shape("group_labels", self.group_labels, 0, n_groups, "row per group")
            _check_shape("group_labels", self.group_labels, 1, n_labels, "column per label")
            _check_length("group_names", self.group_names, n_groups, "group")
        elif self.group_labels is not None:
            raise DataError(
                "group_labels need groups, the instances of each group; got group_labels alone"
            )
        check_groups(self.groups, self.group_labels)

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    def __repr__(self) -> str:
        parts = [_counted(len(self), "instance"), _counted(self.n_labels, "label")]
        if len(self):
            parts.append(f"{self.Y.nnz / len(self):.1f} labels per instance")
        parts.append("texts" if self.X is None else _counted(self.X.shape[1], "feature"))
        if self.groups is not None:
            parts.append(_counted(self.groups.shape[1], "group"))
        if self.filter_pairs is not None:
            parts.append(_counted(len(self.filter_pairs), "filter pair"))
        if self.report:
            parts.append(f"{self.report.skipped:,} bad lines skipped")
        return f"Dataset: {', '.join(parts)}"

    @property
    def n_labels(self) -> int:
        """Size of the label space."""
        return int(self.Y.shape[1])

    @property
    def n_features(self) -> int | None:
        """Columns of X, or None for a Dataset of texts."""
        return None if self.X is None else int(self.X.shape[1])

    def label_name(self, label: int) -> str:
        """Return the name of a label id."""
        return str(label) if self.label_names is None else self.label_names[label]

    def labels_of(self, instance: int) -> list[str]:
        """Return the names of an instance's labels, by rising label id."""
        start, end = self.Y.indptr[instance], self.Y.indptr[instance + 1]
        return [self.label_name(label) for label in self.Y.indices[start:end].tolist()]

    def group_names_of(self, instance: int) -> list[str]:
        """Return the names of the groups an instance is in; their numbers if they have no names."""
        if self.groups is None:
            return []
        start, end = self.groups.indptr[instance], self.groups.indptr[instance + 1]
        groups = self.groups.indices[start:end].tolist()
        return [str(g) if self.group_names is None else self.group_names[g] for g in groups]

    def take(self, rows: npt.ArrayLike) -> Dataset:
        """Return the instances `rows` (ids or a mask) in that order, with all labels and groups.

        An instance may be taken more than once. The reader's report is left out.
        """
        ids = _row_ids(rows, len(self))
        return dataclasses.replace(
            self,
            Y=self.Y[ids],
            X=None if self.X is None else self.X[ids],
            texts=None if self.texts is None else tuple(self.texts[i] for i in ids),
            uids=None if self.uids is None else tuple(self.uids[i] for i in ids),
            groups=None if self.groups is None else self.groups[ids],
            filter_pairs=self._take_filter_pairs(ids),
            report=None,
        )

    def __getitem__(self, rows: slice) -> Dataset:
        """Return a slice of the instances; use `take` for anything else."""
        if not isinstance(rows, slice):
            raise TypeError(
                f"a Dataset is sliced, dataset[10:20], got dataset[{rows!r}]: "
                "use dataset.take(rows) for single instances"
            )
        return self.take(np.arange(len(self))[rows])

    __iter__ = None  # or Python would try dataset[0], dataset[1], ...

    def _take_filter_pairs(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | None:
        if self.filter_pairs is None:
            return None
        pairs = sp.csr_array(
            (
                np.ones(len(self.filter_pairs), np.int8),
                (self.filter_pairs[:, 0], self.filter_pairs[:, 1]),
            ),
            shape=self.Y.shape,
        )[rows].tocoo()
        return np.stack([pairs.coords[0], pairs.coords[1]], axis=1).astype(np.int64)

    def with_labels(self, Y: Sparse) -> Dataset:
        """Return the same instances with other labels of the same label space."""
        if Y.shape != self.Y.shape:
            raise DataError(
                f"Y must keep its shape, {self.Y.shape}, got {Y.shape}: rows are the instances, "
                "columns the label space"
            )
        return dataclasses.replace(self, Y=Y)


def _canonical(name: str, matrix: Sparse) -> Sparse:
    """Return a float32 CSR array with sorted, unique indices; `matrix` itself if it is one."""
    if matrix is None:
        return None
    is_sparse: bool = sp.issparse(matrix)
    if not is_sparse:
        raise DataError(
            f"{name} must be a scipy sparse array, got {type(matrix).__name__}: "
            "wrap it in scipy.sparse.csr_array"
        )
    if type(matrix) is not sp.csr_array or matrix.dtype != np.float32:
        matrix = sp.csr_array(matrix, dtype=np.float32)
    matrix = _narrow(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        row = int(
            np.searchsorted(matrix.indptr, np.flatnonzero(~np.isfinite(matrix.data))[0], "right")
        )
        raise DataError(f"{name} must be finite, got NaN or infinity in row {row - 1}")
    return matrix


def _narrow(matrix: Sparse) -> Sparse:
    """Return the same matrix with int32 indices if they suffice.

    scipy keeps whatever index type it was given, and a kernel compiles anew for each.
    """
    largest = max(matrix.nnz, *matrix.shape)
    indices, indptr = matrix.indices, matrix.indptr
    if indices.dtype == indptr.dtype == np.int32 or largest > np.iinfo(np.int32).max:
        return matrix
    parts = (matrix.data, indices.astype(np.int32), indptr.astype(np.int32))
    return sp.csr_array(parts, shape=matrix.shape)


def _strings(name: str, values: Sequence[str] | None) -> tuple[str, ...] | None:
    if values is None:
        return None
    if isinstance(values, str):
        raise DataError(f"{name} must be a sequence of strings, got one string: {values[:50]!r}")
    strings = tuple(values)
    kinds = set(map(type, strings))
    if not all(issubclass(kind, str) for kind in kinds):
        place = next(i for i, value in enumerate(strings) if not isinstance(value, str))
        raise DataError(f"{name} must be strings, got {strings[place]!r} at position {place}")
    return strings


def _pairs(pairs: npt.ArrayLike | None, shape: tuple[int, int]) -> npt.NDArray[np.int64] | None:
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


def _row_ids(rows: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
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


def _check_length(name: str, values: Sequence[str] | None, expected: int, what: str) -> None:
    if values is not None and len(values) != expected:
        raise DataError(f"{name} must have one entry per {what} ({expected}), got {len(values)}")


def _check_shape(name: str, matrix: Sparse | None, axis: int, expected: int, what: str) -> None:
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


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
