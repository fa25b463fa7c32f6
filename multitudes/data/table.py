"""Rows of a table, CSV or Parquet, to records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from multitudes.data.columns import ColumnRoles
from multitudes.data.dataset import Dataset
from multitudes.data.formats import ReadOptions
from multitudes.data.group_file import read_groups
from multitudes.data.label_field import LabelField
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.label_space import LabelSpace
from multitudes.data.record_fields import join_parts
from multitudes.data.records import Columns, Records
from multitudes.data.report import ErrorLog, excerpt

ROWS_AT_ONCE = 1000


class Table:
    """Gathers the rows of one file; strings of labels and groups are split at the separator.

    Parameters
    ----------
    path, options, labels
        As of the reader.
    numbered : str
        What stands between the path and a row's number in messages.
    """

    def __init__(
        self, path: Path, options: ReadOptions, labels: LabelSpace | None, *, numbered: str = ":"
    ) -> None:
        self.path, self.options = path, options
        self.log = ErrorLog(options.on_error)
        numbering = LabelNumbering(options, labels)
        groups = read_groups(options, numbering, self.log)
        self._records = Records(path, self.log, numbering, groups)
        self._label_field = LabelField(path, options.label_separator)
        self._numbered = numbered

    def add(self, rows: Sequence[tuple[int, Sequence[Any]]], roles: ColumnRoles) -> None:
        """Take rows, each with its number in the file; bad ones go to the log."""
        columns = self._all_at_once([fields for _, fields in rows], roles)
        if columns is None:
            columns = self._one_by_one(rows, roles)
        self._records.add(columns)

    def _all_at_once(self, rows: list[Sequence[Any]], roles: ColumnRoles) -> Columns | None:
        """All columns of sound rows without groups; None if any needs a closer look."""
        if roles.group is not None or set(map(len, rows)) != {roles.n_columns}:
            return None
        values = list(zip(*rows, strict=True))
        texts = [values[place] for place in roles.texts]
        uids = () if roles.uid is None else values[roles.uid]
        labels: list[Any] = []
        if roles.labels is not None:
            labels = list(map(self._several, values[roles.labels]))
        if any(None in column for column in (*texts, uids, labels)):
            return None
        # Last, since from here on names have numbers.
        ids = self._records.numbering.encode_if_sound(list(chain.from_iterable(labels)))
        if ids is None:
            return None
        return Columns(
            texts=list(texts[0]) if len(texts) == 1 else list(map(join_parts, *texts)),
            labels=None if roles.labels is None else labels,
            label_ids=ids,
            uids=None if roles.uid is None else list(map(str, uids)),
        )

    def _one_by_one(self, rows: Sequence[tuple[int, Sequence[Any]]], roles: ColumnRoles) -> Columns:
        columns = Columns(
            texts=[],
            labels=None if roles.labels is None else [],
            uids=None if roles.uid is None else [],
            groups=[],
        )
        for number, fields in rows:
            problem = self._append(fields, roles, columns)
            if problem is not None:
                self.log.bad_line(f"{self.path}{self._numbered}{number}: {problem}")
        return columns

    def dataset(self) -> Dataset:
        """The Dataset, after the last row."""
        self._label_field.check()
        return self._records.dataset(self.options)

    def _append(self, fields: Sequence[Any], roles: ColumnRoles, columns: Columns) -> str | None:
        """Take a row into the columns, or say what is wrong with it."""
        if len(fields) != roles.n_columns:
            return (
                f"the row has {len(fields)} fields (got {excerpt(fields)}); expected "
                f"{roles.n_columns}, as in the first row: quote fields that hold the delimiter"
            )
        texts = [fields[place] for place in roles.texts]
        labels = None if roles.labels is None else self._several(fields[roles.labels])
        uid = None if roles.uid is None else fields[roles.uid]
        groups = [] if roles.group is None else self._several(fields[roles.group])
        problem = (
            _null("text", None in texts)
            or _null("labels", roles.labels is not None and labels is None)
            or _null("uid", roles.uid is not None and uid is None)
            or _null("group", groups is None or None in groups)
            or self._records.numbering.problem(labels or ())
            or self._records.groups.problem(groups := [str(group) for group in groups or ()])
        )
        if problem is not None:
            return problem
        columns.texts.append(texts[0] if len(texts) == 1 else join_parts(texts[0], texts[1]))
        if columns.labels is not None:
            columns.labels.append(labels or [])
        if columns.uids is not None:
            columns.uids.append(str(uid))
        if columns.groups is not None:
            columns.groups.append(groups or [])
        return None

    def _several(self, value: Any) -> list[Any] | None:
        """The values of a field that may hold several: a list, one number, or a string to split."""
        if value is None or isinstance(value, list):
            return value
        return self._label_field.split(value) if isinstance(value, str) else [value]


def _null(what: str, is_null: bool) -> str | None:
    return f"the {what} is missing (got null); expected a value" if is_null else None
