"""Rows of a table, CSV or Parquet, to records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """Gathers the rows of one file; strings of labels and groups are split at the separator."""

    def __init__(self, path: Path, options: ReadOptions, labels: LabelSpace | None) -> None:
        self.path, self.options = path, options
        self.log = ErrorLog(options.on_error)
        numbering = LabelNumbering(options, labels)
        groups = read_groups(options, numbering, self.log)
        self._records = Records(path, self.log, numbering, groups)
        self._label_field = LabelField(path, options.label_separator)

    def add(self, rows: Iterable[tuple[str, Sequence[Any]]], roles: ColumnRoles) -> None:
        """Take rows, each with its place in the file; bad ones go to the log."""
        columns = Columns(
            texts=[],
            labels=None if roles.labels is None else [],
            uids=None if roles.uid is None else [],
            groups=[],
        )
        for place, fields in rows:
            problem = self._append(fields, roles, columns)
            if problem is not None:
                self.log.bad_line(f"{place}: {problem}")
        self._records.add(columns)

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
