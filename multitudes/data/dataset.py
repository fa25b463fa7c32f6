"""Dataset: instances, their labels, and what is known about both. Immutable."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.data.dataset_parts import (
    canonical,
    check_groups,
    check_length,
    check_shape,
    pairs_of,
    row_ids,
    strings,
    taken_texts,
)
from multitudes.data.label_lists import (
    as_list,
    check_as_many,
    labels_and_names,
    listed_texts,
    text_list,
)
from multitudes.data.report import ReadReport
from multitudes.data.tables import frame_table, huggingface_table, table_parts
from multitudes.errors import DataError, counted
from multitudes.types import Sparse
from multitudes.validation import checked_index, checked_label


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
        if self.Y is None:
            raise DataError("a Dataset needs Y, a row of labels per instance; it may be empty")
        for name in ("Y", "X", "groups", "group_labels"):
            self._set(name, canonical(name, getattr(self, name)))
        for name in (
            "texts",
            "uids",
            "label_names",
            "label_texts",
            "label_titles",
            "group_names",
            "feature_names",
        ):
            self._set(name, strings(name, getattr(self, name)))
        self._set("filter_pairs", pairs_of(self.filter_pairs, self.Y.shape))
        self._check_sizes()

    def _set(self, name: str, value: object) -> None:
        if value is not getattr(self, name):
            object.__setattr__(self, name, value)

    def _check_sizes(self) -> None:
        n, n_labels = self.Y.shape
        check_length("texts", self.texts, n, "instance")
        check_length("uids", self.uids, n, "instance")
        check_length("label_names", self.label_names, n_labels, "label")
        check_length("label_texts", self.label_texts, n_labels, "label")
        check_length("label_titles", self.label_titles, n_labels, "label")
        check_shape("X", self.X, 0, n, "row per instance")
        check_shape("groups", self.groups, 0, n, "row per instance")
        if self.X is not None:
            check_length("feature_names", self.feature_names, self.X.shape[1], "feature")
        if self.groups is not None:
            n_groups = self.groups.shape[1]
            check_shape("group_labels", self.group_labels, 0, n_groups, "row per group")
            check_shape("group_labels", self.group_labels, 1, n_labels, "column per label")
            check_length("group_names", self.group_names, n_groups, "group")
        elif self.group_labels is not None:
            raise DataError(
                "group_labels need groups, the instances of each group; got group_labels alone"
            )
        check_groups(self.groups, self.group_labels)

    @classmethod
    def from_lists(
        cls,
        texts: Iterable[str],
        labels: Any,
        *,
        label_names: Sequence[str] | None = None,
        label_texts: Mapping[str, str] | Sequence[str] | None = None,
        uids: Iterable[str] | None = None,
    ) -> Self:
        """Make a Dataset of texts and, for each, a list of label names.

        Parameters
        ----------
        texts : sequence of str
            A list, an array, a Series of pandas or polars, a column of Hugging Face.
        labels : sequence of sequences of str, or 0/1 matrix (n_instances, n_labels)
            The label names of each text; or an array, sparse matrix or DataFrame of 0 and 1.
        label_names : sequence of str, optional
            The label space, e.g. that of the training data; by default all names that occur,
            sorted. With a matrix, the names of its columns.
        label_texts : mapping of str to str, or sequence of str, optional
            Descriptions of labels, by name or in the order of `label_names`.
        uids : sequence of str, optional
            The user's own instance ids.

        Examples
        --------
        >>> Dataset.from_lists(["a red belt", "an apple"], [["red", "belts"], ["fruit"]])
        Dataset: 2 instances, 3 labels, 1.5 labels per instance, texts
        """
        Y, names = labels_and_names(labels, label_names)
        listed = text_list(texts)
        check_as_many(len(listed), Y.shape[0])
        numbers = [str(label) for label in range(Y.shape[1])]
        return cls(
            Y=Y,
            texts=listed,
            label_names=names,
            label_texts=listed_texts(label_texts, names or numbers),
            uids=None if uids is None else as_list(uids),
        )

    @classmethod
    def from_pandas(
        cls,
        frame: Any,
        *,
        text: str | Sequence[str],
        labels: str | Sequence[str],
        separator: str | None = None,
        label_names: Sequence[str] | None = None,
        uid: str | None = None,
    ) -> Self:
        """Make a Dataset of columns of a DataFrame, of pandas or polars.

        Parameters
        ----------
        frame : DataFrame
        text : str or list of str
            The column of the texts; several are joined by a space, without missing ones.
        labels : str or list of str
            A column with lists of label names, or with texts that `separator` divides into names;
            a missing value is no label. Or several columns, each named after a label, that hold 1
            where a text has it, else 0.
        separator : str, optional
            What is between the labels of a text, e.g. ";".
        label_names : sequence of str, optional
            The label space, for a single column of labels; by default all names that occur, sorted.
        uid : str, optional
            The column of the user's own instance ids.
        """
        parts = table_parts(frame_table(frame), text, labels, separator, label_names, uid)
        return cls(**parts)

    @classmethod
    def from_huggingface(
        cls,
        data: Any,
        *,
        text: str | Sequence[str],
        labels: str | Sequence[str],
        separator: str | None = None,
        label_names: Sequence[str] | None = None,
        uid: str | None = None,
    ) -> Self:
        """Make a Dataset of columns of one split of a Hugging Face dataset.

        Parameters are those of `from_pandas`. Labels that are numbers with names (`ClassLabel`)
        get these; a column may also hold one such label for each text.
        """
        parts = table_parts(huggingface_table(data), text, labels, separator, label_names, uid)
        return cls(**parts)

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    def __repr__(self) -> str:
        parts = [counted(len(self), "instance"), counted(self.n_labels, "label")]
        if len(self):
            parts.append(f"{self.Y.nnz / len(self):.1f} labels per instance")
        parts.append("texts" if self.X is None else counted(self.X.shape[1], "feature"))
        if self.groups is not None:
            parts.append(counted(self.groups.shape[1], "group"))
        if self.filter_pairs is not None:
            parts.append(counted(len(self.filter_pairs), "filter pair"))
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
        return self._name_of(checked_label(label, self.n_labels))

    def _name_of(self, label: int) -> str:
        return str(label) if self.label_names is None else self.label_names[label]

    def labels_of(self, instance: int) -> list[str]:
        """Return the names of an instance's labels, by rising label id."""
        instance = checked_index(instance, len(self), "instance")
        start, end = self.Y.indptr[instance], self.Y.indptr[instance + 1]
        return [self._name_of(label) for label in self.Y.indices[start:end].tolist()]

    def group_names_of(self, instance: int) -> list[str]:
        """Return the names of the groups an instance is in; their numbers if they have no names."""
        if self.groups is None:
            return []
        instance = checked_index(instance, len(self), "instance")
        start, end = self.groups.indptr[instance], self.groups.indptr[instance + 1]
        groups = self.groups.indices[start:end].tolist()
        return [str(g) if self.group_names is None else self.group_names[g] for g in groups]

    def take(self, rows: npt.ArrayLike) -> Dataset:
        """Return the instances `rows` (ids or a mask) in that order, with all labels and groups.

        An instance may be taken more than once. The reader's report is left out.
        """
        ids = row_ids(rows, len(self))
        return dataclasses.replace(
            self,
            Y=self.Y[ids],
            X=None if self.X is None else self.X[ids],
            texts=taken_texts(self.texts, ids),
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
        shape = getattr(Y, "shape", None)
        if shape != self.Y.shape:
            raise DataError(
                f"Y must keep its shape, {self.Y.shape}, got {shape}: rows are the instances, "
                "columns the label space"
            )
        return dataclasses.replace(self, Y=Y)
