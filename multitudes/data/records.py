"""Records, the shared middle of all text readers: columns of checked values to a Dataset."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data.dataset import Dataset
from multitudes.data.field_names import listed
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import ReadOptions
from multitudes.data.report import N_EXAMPLES, ErrorLog, ReadReport, excerpt
from multitudes.errors import DataError
from multitudes.files.texts import TextShelf
from multitudes.types import IntArray


@dataclass
class Columns:
    """Some instances: a list per field, one entry per instance; None for a missing field.

    `label_ids` are the labels of all instances, one after the other, if the numbering has already
    encoded them.
    """

    texts: list[str]
    labels: list[list[Any]] | None = None
    label_ids: IntArray | None = None
    uids: list[str] | None = None
    groups: list[list[str]] | None = None


@dataclass
class Ragged:
    """Rows of ids of any length, gathered piece by piece."""

    ids: list[IntArray] = field(default_factory=list)
    counts: list[IntArray] = field(default_factory=list)

    def add(self, ids: IntArray, rows: Iterable[Sequence[Any]]) -> None:
        """Append rows whose ids are `ids`, one row after the other."""
        self.ids.append(ids.astype(np.int32))
        self.counts.append(np.fromiter(map(len, rows), np.int64))

    def add_empty(self, n_rows: int) -> None:
        """Append rows without ids."""
        self.counts.append(np.zeros(n_rows, np.int64))

    def to_csr(self, n_columns: int, *, counted: bool = False) -> sp.csr_array[Any]:
        """Return a matrix of 1 at the ids (how often, if `counted`), without negative ids."""
        counts = np.concatenate([np.zeros(0, np.int64), *self.counts])
        ids = np.concatenate([np.zeros(0, np.int32), *self.ids])
        ends = np.cumsum(counts)
        known = ids >= 0
        if not known.all():
            ends = np.concatenate([[0], np.cumsum(known)])[ends]
            ids = ids[known]
        # scipy's stubs lose themselves in the choice of constructors.
        parts: Any = (np.ones(len(ids), np.float32), ids, np.concatenate([[0], ends]))
        matrix: sp.csr_array[Any] = sp.csr_array(parts, shape=(len(counts), n_columns))
        matrix.sum_duplicates()
        if not counted:
            matrix.data[:] = 1
        return matrix


class Groups:
    """The groups of a file: numbered as they appear, or fixed by a groups file."""

    def __init__(
        self,
        names: Iterable[str] = (),
        labels: Ragged | None = None,
        numbering: LabelNumbering | None = None,
    ) -> None:
        self.index = {name: number for number, name in enumerate(names)}
        self.labels = labels
        self.numbering = numbering

    def problem(self, names: Sequence[str]) -> str | None:
        """Return why an instance cannot be in these groups; None if it can."""
        if self.labels is None:
            return None
        for name in names:
            if name not in self.index:
                return (
                    f"the group is not in the groups file (got {excerpt(name)}); expected "
                    f"one of its {len(self.index):,} groups: add it there"
                )
        return None

    def encode(self, flat: Iterable[str]) -> IntArray:
        """Return group numbers; a new name gets the next one."""
        return np.array([self.index.setdefault(name, len(self.index)) for name in flat], np.int64)


class Records:
    """Collects the instances of one file; memory is that of the finished Dataset.

    A reader may set `field_names`, the fields that the file has, for messages; `taken`, what it
    read as what; and `titles`, what labels are called by people if their names are e.g. URIs.
    """

    def __init__(
        self, path: Path, log: ErrorLog, numbering: LabelNumbering, groups: Groups | None = None
    ) -> None:
        self.path, self.log, self.numbering = path, log, numbering
        self.groups = groups or Groups()
        self.has_labels: bool | None = None
        self.field_names: Sequence[str] = ()
        self.taken = ""
        self.titles: dict[str, str] = {}
        self._texts = TextShelf()
        self._uids: list[str] = []
        self._labels = Ragged()
        self._memberships = Ragged()

    def add(self, columns: Columns) -> None:
        """Append instances whose labels and groups have no problem."""
        if not columns.texts:
            return
        self._texts.extend(columns.texts)
        if columns.uids is not None:
            self._uids.extend(columns.uids)
        self.has_labels = columns.labels is not None
        if columns.labels is None:
            self._labels.add_empty(len(columns.texts))
        else:
            ids = columns.label_ids
            if ids is None:
                ids = self.numbering.encode(list(chain.from_iterable(columns.labels)))
            self._labels.add(ids, columns.labels)
        if columns.groups is None:
            self._memberships.add_empty(len(columns.texts))
        else:
            ids = self.groups.encode(chain.from_iterable(columns.groups))
            self._memberships.add(ids, columns.groups)

    def dataset(self, options: ReadOptions) -> Dataset:
        """Return the Dataset, after the last record."""
        self._check(options)
        if self.groups.labels is not None:
            self.taken = self.taken.replace("labels: none", "labels: those of groups")
        n_labels, space = self.numbering.result(self.path)
        grouped = bool(self.groups.index)
        labels_of_groups = self.groups.labels
        return Dataset(
            Y=self._labels.to_csr(n_labels),
            texts=self._texts.texts(),
            label_names=None if space is None else space.names,
            label_texts=None if space is None else space.texts,
            label_titles=None if space is None else self._titles(space),
            uids=self._uids or None,
            groups=self._memberships.to_csr(len(self.groups.index)) if grouped else None,
            group_names=tuple(self.groups.index) if grouped else None,
            group_labels=None
            if labels_of_groups is None
            else labels_of_groups.to_csr(n_labels, counted=True),
            report=dataclasses.replace(
                report_of(self.log, self.numbering, self.groups.numbering), taken=self.taken
            ),
        )

    def _check(self, options: ReadOptions) -> None:
        if not len(self._texts):
            skipped = f" ({self.log.skipped:,} bad lines skipped)" if self.log.skipped else ""
            example = f": {self.log.examples[0]}" if self.log.examples else ""
            raise DataError(f"{self.path} holds no instances{skipped}{example}")
        if options.require_labels and not self.has_labels and self.groups.labels is None:
            raise DataError(self._no_labels())

    def _titles(self, space: LabelSpace) -> Sequence[str] | None:
        """Return the title of each label, its name if it has none; None without any titles."""
        if space.titles is not None or not self.titles:
            return space.titles
        return [self.titles.get(name, name) for name in space.names]

    def _no_labels(self) -> str:
        if self.groups.index:
            return (
                f"{self.path} has no labels, but its instances name "
                f"{len(self.groups.index):,} groups; expected a file with the labels of each "
                'group, {"group": id, "labels": [...]}: name it with group_labels'
            )
        has = f" (it has {listed(self.field_names)})" if self.field_names else ""
        return (
            f"{self.path} has no labels{has}; expected a field or column named 'labels', 'tags' or "
            "'categories': name another with label_column"
        )


def report_of(log: ErrorLog, *numberings: LabelNumbering | None) -> ReadReport:
    """Return what was left out of a file and the files that belong to it."""
    different = [n for n in dict.fromkeys(numberings) if n is not None]
    examples = chain.from_iterable(numbering.unknown_examples for numbering in different)
    return dataclasses.replace(
        log.report(),
        unknown_labels=sum(numbering.n_unknown for numbering in different),
        unknown_label_examples=tuple(dict.fromkeys(examples))[:N_EXAMPLES],
    )
