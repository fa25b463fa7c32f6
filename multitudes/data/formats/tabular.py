"""Tables, CSV or Parquet: which columns hold what, label fields, and rows to records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from multitudes.data.dataset import Dataset
from multitudes.data.groups.files import read_groups
from multitudes.data.json_fields import GROUPS, LABELS, PARTS, UIDS, join_parts
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import ReadOptions
from multitudes.data.records import Columns, Records
from multitudes.data.report import ErrorLog, excerpt
from multitudes.errors import DataError, suggestion

TEXT_COLUMNS = ("text", "sentence", "document", "body", "abstract", "description")
LABEL_COLUMNS = (*LABELS, "label", "tags", "tag", "categories", "category")
DEFAULT_SEPARATOR = ";"
OTHER_SEPARATORS = (",", "|")
_FIELDS_KEPT = 10_000
ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class ColumnRoles:
    """Positions of the columns that matter, among `n_columns`."""

    texts: tuple[int, ...]
    labels: int | None
    uid: int | None
    group: int | None
    n_columns: int


def has_column_names(first_row: Sequence[str], options: ReadOptions) -> bool:
    """Return whether a table's first row is its column names: as set, or by a known name."""
    if options.header != "auto":
        return options.header == "yes"
    asked = {options.text_column, options.label_column, options.uid_column, options.group_column}
    known = {*TEXT_COLUMNS, *PARTS, *LABEL_COLUMNS}
    return any(cell in asked or cell.strip().lower() in known for cell in first_row)


def roles_by_name(names: Sequence[str], path: Path, options: ReadOptions) -> ColumnRoles:
    """Return the roles of named columns; a missing column that was asked for is an error."""
    lower = [name.strip().lower() for name in names]

    def find(setting: str, asked: str | None, guesses: Sequence[str]) -> int | None:
        if asked is not None:
            return _asked(setting, asked, names, path)
        return next((lower.index(guess) for guess in guesses if guess in lower), None)

    text = find("text_column", options.text_column, TEXT_COLUMNS)
    parts = tuple(lower.index(part) for part in PARTS if part in lower)
    texts = parts if text is None else (text,)
    if options.text_column is None and "text" not in lower and parts:
        texts = parts
    if not texts:
        raise DataError(
            f"{path}:1: no column holds the text (got columns {excerpt(list(names))}); expected "
            "'text', or 'title' and 'content': name the column with text_column"
        )
    return ColumnRoles(
        texts=texts,
        labels=find("label_column", options.label_column, LABEL_COLUMNS),
        uid=find("uid_column", options.uid_column, UIDS),
        group=find("group_column", options.group_column, GROUPS),
        n_columns=len(names),
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
    text, label, uid, group = (
        None if asked is None else _asked(setting, asked, numbers, path)
        for setting, asked in (
            ("text_column", options.text_column),
            ("label_column", options.label_column),
            ("uid_column", options.uid_column),
            ("group_column", options.group_column),
        )
    )
    text = text or 0
    if label is None and options.text_column is None and n_columns == 2:
        label = 1
    return ColumnRoles((text,), label, uid, group, n_columns)


def _asked(setting: str, asked: str, names: Sequence[str], path: Path) -> int:
    if asked in names:
        return list(names).index(asked)
    if asked.isascii() and asked.isdigit() and int(asked) < len(names):
        return int(asked)
    raise DataError(
        f"{path}:1: no column {asked!r} (got columns {excerpt(list(names))}); correct "
        f"{setting}: {suggestion(asked, names)}"
    )


class LabelField:
    """Splits label fields, and notices when the default separator is the wrong one.

    Parameters
    ----------
    path : Path
        The file, for messages.
    separator : str or None
        Between labels; None is the default, ``;``, which `check` then questions.
    """

    def __init__(self, path: Path, separator: str | None) -> None:
        self._path = path
        self._unsure = separator is None
        self._separator = separator or DEFAULT_SEPARATOR
        self._fields: set[str] = set()

    def split(self, value: str) -> list[str]:
        """Return the labels of a field, without the spaces around them and without empty ones."""
        if self._unsure and value:
            self._note(value)
        return [label for part in value.split(self._separator) if (label := part.strip())]

    def _note(self, value: str) -> None:
        if self._separator in value:
            self._unsure = False
            self._fields.clear()
        elif len(self._fields) < _FIELDS_KEPT:
            self._fields.add(value)

    def check(self) -> None:
        """Raise if no field had the default separator, and most had another usual one."""
        for other in OTHER_SEPARATORS:
            count = sum(other in value for value in self._fields)
            if count * 2 > len(self._fields):
                raise DataError(
                    f"{self._path}: labels are separated by {DEFAULT_SEPARATOR!r}, but no field "
                    f"has it, and {count:,} of {len(self._fields):,} different ones have "
                    f"{other!r}: set label_separator to {other!r}, or to {DEFAULT_SEPARATOR!r} if "
                    "each field is one label"
                )


def join_labels(labels: Sequence[object], separator: str) -> str:
    """Join labels to a field that splits into the same labels; an error if none would."""
    names = [str(label) for label in labels]
    for name in names:
        if separator in name or name != name.strip() or not name:
            raise DataError(
                f"cannot write the label {excerpt(name)} between separators {separator!r}; "
                "expected no separator in it and no spaces around it: choose another "
                "label_separator, or write JSON lines"
            )
    return separator.join(names)


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
        self._numbered = numbered

    def add(self, rows: Sequence[tuple[int, Sequence[Any]]], roles: ColumnRoles) -> None:
        """Add rows, each with its number in the file; bad ones go to the log."""
        columns = self._all_at_once([fields for _, fields in rows], roles)
        if columns is None:
            columns = self._one_by_one(rows, roles)
        self._records.add(columns)

    def _all_at_once(self, rows: list[Sequence[Any]], roles: ColumnRoles) -> Columns | None:
        """Return the columns of valid rows without groups; None if any needs a closer look."""
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
        return self._records.dataset(self.options)

    def _append(self, fields: Sequence[Any], roles: ColumnRoles, columns: Columns) -> str | None:
        """Add a row to the columns, or return what is wrong with it."""
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
        """Return the values of a field: of a list, of one number, or of a string to split."""
        if value is None or isinstance(value, list):
            return value
        return self._label_field.split(value) if isinstance(value, str) else [value]


def _null(what: str, is_null: bool) -> str | None:
    return f"the {what} is missing (got null); expected a value" if is_null else None
