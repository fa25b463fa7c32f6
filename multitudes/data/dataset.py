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


@dataclass(frozen=True)
class Dataset:
    """Instances with labels, from any file format.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels), float32
        1 where an instance has a label. Rows may be empty.
    texts : sequence of str, optional
        One text per instance; `texts` or `X` must be given.
    X : CSR (n_instances, n_features), float32, optional
        Features, where the file holds features instead of text.
    label_names : sequence of str, optional
        The name a user knows a label by; the ids as strings where absent.
    label_texts : sequence of str, optional
        A description of each label.
    uids : sequence of str, optional
        The user's own instance ids.
    groups : CSR (n_instances, n_groups), optional
        1 where an instance belongs to a group; it may belong to several.
    group_labels : CSR (n_groups, n_labels), optional
        How often each group lists a label.
    group_names : sequence of str, optional
        The user's own group ids.
    filter_pairs : int array (n_pairs, 2), optional
        (instance, label) pairs to leave out of predictions, e.g. a page that is itself a label.
    feature_names : sequence of str, optional
        Names of the columns of X.
    report : ReadReport, optional
        What the reader left out, where the Dataset comes from a file.
    """

    Y: sp.csr_array[Any]
    texts: Sequence[str] | None = None
    X: sp.csr_array[Any] | None = None
    label_names: Sequence[str] | None = None
    label_texts: Sequence[str] | None = None
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
        n, n_labels = self.Y.shape
        self._check_length("texts", self.texts, n, "instance")
        self._check_length("uids", self.uids, n, "instance")
        self._check_length("label_names", self.label_names, n_labels, "label")
        self._check_length("label_texts", self.label_texts, n_labels, "label")
        self._check_rows("X", self.X, n, "instance")
        self._check_rows("groups", self.groups, n, "instance")
        if self.X is not None:
            self._check_length("feature_names", self.feature_names, self.X.shape[1], "feature")
        if self.groups is not None:
            n_groups = self.groups.shape[1]
            self._check_rows("group_labels", self.group_labels, n_groups, "group")
            self._check_length("group_names", self.group_names, n_groups, "group")

    @staticmethod
    def _check_length(name: str, values: Sequence[str] | None, expected: int, what: str) -> None:
        if values is not None and len(values) != expected:
            raise DataError(
                f"{name} must have one entry per {what} ({expected}), got {len(values)}"
            )

    @staticmethod
    def _check_rows(name: str, matrix: Sparse | None, expected: int, what: str) -> None:
        if matrix is not None and matrix.shape[0] != expected:
            raise DataError(
                f"{name} must have one row per {what} ({expected}), got {matrix.shape[0]}"
            )

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    @property
    def n_labels(self) -> int:
        """Size of the label space."""
        return int(self.Y.shape[1])

    @property
    def n_features(self) -> int | None:
        """Columns of X, or None for a Dataset of texts."""
        return None if self.X is None else int(self.X.shape[1])

    def label_name(self, label: int) -> str:
        """The name of a label id."""
        return str(label) if self.label_names is None else self.label_names[label]

    def take(self, rows: npt.ArrayLike) -> Dataset:
        """The instances `rows` (ids or a mask), in that order, over the same label space."""
        rows = np.asarray(rows)
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        rows = rows.astype(np.int64)
        return dataclasses.replace(
            self,
            Y=self.Y[rows],
            X=None if self.X is None else self.X[rows],
            texts=None if self.texts is None else [self.texts[i] for i in rows],
            uids=None if self.uids is None else [self.uids[i] for i in rows],
            groups=None if self.groups is None else self.groups[rows],
            filter_pairs=self._take_filter_pairs(rows),
        )

    def __getitem__(self, rows: slice) -> Dataset:
        """A slice of the instances."""
        return self.take(np.arange(len(self))[rows])

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
        """The same instances under other labels of the same label space."""
        return dataclasses.replace(self, Y=sp.csr_array(Y))
