"""Tables, CSV or Parquet: which columns hold what, and rows to records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from multitudes.data.dataset import Dataset
from multitudes.data.field_names import (
    GROUPS,
    LABELS,
    UIDS,
    asked_texts,
    is_usual,
    join_parts,
    listed,
    matching_name,
    nearest,
    usual_name,
    usual_texts,
)
from multitudes.data.formats.label_field import LabelField, not_a_list
from multitudes.data.groups.files import read_groups
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import ReadOptions
from multitudes.data.records import Columns, Records
from multitudes.data.report import ErrorLog, excerpt
from multitudes.errors import DataError

ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class ColumnRoles:
    """Positions of the columns that matter, among `names`."""

    texts: tuple[int, ...]
    labels: int | None
    uid: int | None
    group: int | None
    names: tuple[str, ...]


def has_column_names(first_row: Sequence[str], options: ReadOptions) -> bool:
    """Return whether a table's first row is its column names: as set, or by a usual name."""
    if options.header != "auto":
        return options.header == "yes"
    asked = {options.label_column, options.uid_column, options.group_column}
    asked |= set(asked_texts(options, first_row))
    return any(cell in asked or is_usual(cell) for cell in first_row)


def roles_by_name(
    names: Sequence[str],
    path: Path,
    options: ReadOptions,
    *,
    may_be_text: Callable[[int], bool] = lambda place: True,
) -> ColumnRoles:
    """Return the roles of named columns; a missing column that was asked for is an error."""

    def find(setting: str, asked: str | None, usual: Sequence[str]) -> str | None:
        return usual_name(names, usual) if asked is None else _asked(setting, asked, names, path)

    labels = find("label_column", options.label_column, LABELS)
    uid = find("uid_column", options.uid_column, UIDS)
    group = find("group_column", options.group_column, GROUPS)
    asked = asked_texts(options, names)
    texts = [_asked("text_column", name, names, path) for name in asked]
    if not asked:
        usable = [name for place, name in enumerate(names) if may_be_text(place)]
        chosen = (labels, uid, group)
        texts = usual_texts(usable, chosen) or usual_texts(names, chosen)
    if not texts:
        raise DataError(
            f"{path}:1: no column holds the text (got columns {listed(names)}); expected 'text', "
            "'title', 'description' or the like: name the column with text_column"
        )
    places = list(names).index
    return ColumnRoles(
        texts=tuple(map(places, dict.fromkeys(texts))),
        labels=None if labels is None else places(labels),
        uid=None if uid is None else places(uid),
        group=None if group is None else places(group),
        names=tuple(names),
    )


def roles_by_position(n_columns: int, path: Path, options: ReadOptions) -> ColumnRoles:
    """Return the roles of columns without names: by number, or text first, labels second."""
    numbers = [str(i) for i in range(n_columns)]
    if options.text_column is None and n_columns > 2:
        raise DataError(
            f"{path}:1: {n_columns} columns without a known column name; expected a first line "
            "with column names, or a text and a label column alone: say which are which with "
            "text_column and label_column, by name or by number from 0"
        )
    texts = [int(_asked("text_column", name, numbers, path)) for name in asked_texts(options)]
    label, uid, group = (
        None if asked is None else int(_asked(setting, asked, numbers, path))
        for setting, asked in (
            ("label_column", options.label_column),
            ("uid_column", options.uid_column),
            ("group_column", options.group_column),
        )
    )
    if label is None and options.text_column is None and n_columns == 2:
        label = 1
    names = tuple(f"column {number}" for number in numbers)
    return ColumnRoles(tuple(texts) or (0,), label, uid, group, names)


def _asked(setting: str, asked: str, names: Sequence[str], path: Path) -> str:
    found = matching_name(asked, names)
    if found is None:
        raise DataError(
            f"{path}:1: no column {asked!r} (got columns {listed(names)}); correct "
            f"{setting}: {nearest(asked, names)}"
        )
    return found


class Table:
    """Collects the rows of one file; strings of labels and groups are split at the separator.

    Parameters
    ----------
    path, options, labels
        As for the reader.
    numbered : str
        Between the path and a row's number in messages.
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
        self._group_field = LabelField(path, options.label_separator)
        self._numbered = numbered
        self._roles: ColumnRoles | None = None

    def add(self, rows: Sequence[tuple[int, Sequence[Any]]], roles: ColumnRoles) -> None:
        """Add rows, each with its number in the file; bad ones go to the log."""
        if self._roles is None:
            self._roles, self._records.field_names = roles, roles.names
        self._look(rows, roles.labels, self._label_field)
        self._look(rows, roles.group, self._group_field)
        columns = self._all_at_once([fields for _, fields in rows], roles)
        if columns is None:
            columns = self._one_by_one(rows, roles)
        self._records.add(columns)

    @staticmethod
    def _look(
        rows: Sequence[tuple[int, Sequence[Any]]], place: int | None, field: LabelField
    ) -> None:
        if place is not None:
            field.look(fields[place] for _, fields in rows if place < len(fields))

    def _all_at_once(self, rows: list[Sequence[Any]], roles: ColumnRoles) -> Columns | None:
        """Return the columns of valid rows without groups; None if any needs a closer look."""
        if roles.group is not None or set(map(len, rows)) != {len(roles.names)}:
            return None
        values = list(zip(*rows, strict=True))
        texts = [values[place] for place in roles.texts]
        uids = () if roles.uid is None else values[roles.uid]
        labels: list[Any] = []
        if roles.labels is not None:
            labels = [_several(value, self._label_field) for value in values[roles.labels]]
        if any(None in column for column in (*texts, uids, labels)):
            return None
        # Last, since from here on names have numbers.
        ids = self._records.numbering.encode_if_valid(list(chain.from_iterable(labels)))
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
        """Return the Dataset, after the last row."""
        self._label_field.check()
        if self._roles is not None:
            self._records.taken = self._taken(self._roles)
        return self._records.dataset(self.options)

    def _taken(self, roles: ColumnRoles) -> str:
        """Return what was read as what."""
        parts = [f"text: {' + '.join(roles.names[place] for place in roles.texts)}", "labels: none"]
        if roles.labels is not None:
            parts[1] = f"labels: {roles.names[roles.labels]} ({self._label_field.describe()})"
        if roles.uid is not None:
            parts.append(f"uid: {roles.names[roles.uid]}")
        if roles.group is not None:
            parts.append(f"groups: {roles.names[roles.group]}")
        return ", ".join(parts)

    def _append(self, fields: Sequence[Any], roles: ColumnRoles, columns: Columns) -> str | None:
        """Add a row to the columns, or return what is wrong with it."""
        if len(fields) != len(roles.names):
            return (
                f"the row has {len(fields)} fields (got {excerpt(fields)}); expected "
                f"{len(roles.names)}, as in the first row: quote fields that hold the delimiter"
            )
        texts = [fields[place] for place in roles.texts]
        if len(texts) > 1 and set(texts) != {None}:
            texts = ["" if text is None else text for text in texts]
        labels = None if roles.labels is None else _several(fields[roles.labels], self._label_field)
        uid = None if roles.uid is None else fields[roles.uid]
        groups = [] if roles.group is None else _several(fields[roles.group], self._group_field)
        problem = (
            _null("text", None in texts)
            or _missing("labels", roles.labels, labels, fields)
            or _null("uid", roles.uid is not None and uid is None)
            or _missing("group", roles.group, groups, fields)
            or _null("group", None in (groups or ()))
            or self._records.numbering.problem(labels or ())
            or self._records.groups.problem(groups := [str(group) for group in groups or ()])
        )
        if problem is not None:
            return problem
        columns.texts.append(texts[0] if len(texts) == 1 else join_parts(*texts))
        if columns.labels is not None:
            columns.labels.append(labels or [])
        if columns.uids is not None:
            columns.uids.append(str(uid))
        if columns.groups is not None:
            columns.groups.append(groups or [])
        return None


def _several(value: Any, field: LabelField) -> list[Any] | None:
    """Return the values of a field: of a list, of one number, or of a string to split."""
    if value is None or isinstance(value, list):
        return value
    return field.split(value) if isinstance(value, str) else [value]


def _missing(
    what: str, place: int | None, values: list[Any] | None, fields: Sequence[Any]
) -> str | None:
    """Return why there are no values: the field is null, or not the list that it should be."""
    if place is None or values is not None:
        return None
    return _null(what, True) if fields[place] is None else not_a_list(fields[place])


def _null(what: str, is_null: bool) -> str | None:
    return f"the {what} is missing (got null); expected a value" if is_null else None
