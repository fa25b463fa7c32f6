"""`LabelSpace`: the labels to read over, so that a label has the same id in two files."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from multitudes import memory
from multitudes.data.dataset import Dataset
from multitudes.data.dataset_parts import strings
from multitudes.data.report import N_EXAMPLES, ReadReport
from multitudes.errors import DataError
from multitudes.types import IntArray, Sparse

_NAME_BYTES = 160  # of a name, and of its place in an index


@dataclass(frozen=True)
class LabelSpace:
    """Names and texts of all labels; a label's id is its position.

    Read a test file over the training labels with ``read_dataset(path, labels=train)``.

    Parameters
    ----------
    names : sequence of str
        One unique name per label.
    texts : sequence of str, optional
        A description of each label.
    titles : sequence of str, optional
        What each label is called by people, if its name is e.g. a URI.
    """

    names: Sequence[str]
    texts: Sequence[str] | None = None
    titles: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", strings("label names", self.names))
        if len(self.index) != len(self.names):
            place, name = next(
                (i, name) for i, name in enumerate(self.names) if self.index[name] != i
            )
            raise DataError(
                f"label names must be unique, got {name!r} for labels {place} and "
                f"{self.index[name]}"
            )
        for what in ("texts", "titles"):
            values = getattr(self, what)
            if values is None:
                continue
            values = strings(f"label {what}", values) or ()
            object.__setattr__(self, what, values)
            if len(values) != len(self.names):
                raise DataError(
                    f"label {what} must be one per label ({len(self.names)}), got {len(values)}"
                )

    @classmethod
    def of(cls, dataset: Dataset) -> LabelSpace:
        """Return the label space of a Dataset; ids become names if it has no names."""
        names = dataset.label_names
        if names is None:
            memory.ask(
                _NAME_BYTES * dataset.n_labels, f"a name for each of {dataset.n_labels:,} labels"
            )
            names = [str(label) for label in range(dataset.n_labels)]
        return cls(names, dataset.label_texts, dataset.label_titles)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def index(self) -> dict[str, int]:
        """The label id of each name."""
        return {name: label for label, name in enumerate(self.names)}


def relabel(
    dataset: Dataset,
    space: LabelSpace,
    *,
    unknown_labels: str = "drop",
    path: Path | None = None,
) -> Dataset:
    """Return the same instances over another label space, labels matched by name.

    Labels outside `space` are dropped and counted in `report`, or are an error with
    ``unknown_labels="raise"``. Without names of its own, a Dataset's ids are
    positions in `space`. `path` is the file that it is from, for messages.
    """
    source = "" if path is None else f"{path}: "
    if dataset.label_names is None:
        if dataset.n_labels > len(space):
            raise DataError(
                f"{source}label ids go up to {dataset.n_labels - 1}, but the label space has "
                f"{len(space)} labels: read the file with the labels it was made with"
            )
        memory.ask(16 * dataset.n_labels, f"moving {dataset.n_labels:,} labels")
        target = np.arange(dataset.n_labels)
    else:
        target = np.array([space.index.get(name, -1) for name in dataset.label_names], np.int64)
    report = _with_unknown(dataset, target, unknown_labels, source)
    pairs = dataset.filter_pairs
    if pairs is not None:
        pairs = np.stack([pairs[:, 0], target[pairs[:, 1]]], axis=1)
        pairs = pairs[pairs[:, 1] >= 0]
    return dataclasses.replace(
        dataset,
        Y=move_columns(dataset.Y, target, len(space)),
        group_labels=None
        if dataset.group_labels is None
        else move_columns(dataset.group_labels, target, len(space)),
        label_names=space.names,
        label_texts=space.texts,
        label_titles=space.titles,
        filter_pairs=pairs,
        report=report,
    )


def _with_unknown(
    dataset: Dataset, target: IntArray, unknown_labels: str, source: str
) -> ReadReport | None:
    listed = [m for m in (dataset.Y, dataset.group_labels) if m is not None]
    used = np.zeros(len(target), np.int64)
    for matrix in listed:
        used += np.bincount(matrix.indices, minlength=len(target))
    lost = np.flatnonzero((target < 0) & (used > 0))
    if not len(lost):
        return dataset.report
    names = tuple(dataset.label_name(int(label)) for label in lost[:N_EXAMPLES])
    if unknown_labels == "raise":
        raise DataError(
            f"{source}{len(lost):,} of the file's labels are not in the label space (the first: "
            f"{names[0]!r}): add them to it, or drop them with unknown_labels='drop'"
        )
    count = int(used[lost].sum())
    report = ReadReport() if dataset.report is None else dataset.report
    return dataclasses.replace(
        report,
        unknown_labels=report.unknown_labels + count,
        unknown_label_examples=(*report.unknown_label_examples, *names)[:N_EXAMPLES],
    )


def move_columns(matrix: Sparse, target: IntArray, n_columns: int) -> Sparse:
    """Return a matrix whose column j is moved to ``target[j]``, or dropped if that is negative."""
    entries = matrix.tocoo()
    columns = target[entries.coords[1]]
    kept = columns >= 0
    return sp.csr_array(
        (entries.data[kept], (entries.coords[0][kept], columns[kept])),
        shape=(matrix.shape[0], n_columns),
    )
