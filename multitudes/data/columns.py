"""Which columns of a table hold the text, the labels, the uid and the groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from multitudes.data.formats import ReadOptions
from multitudes.data.record_fields import GROUPS, LABELS, PARTS, UIDS
from multitudes.data.report import excerpt
from multitudes.errors import DataError, suggestion

TEXTS = ("text", "sentence", "document", "body", "abstract", "description")
LABEL_COLUMNS = (*LABELS, "label", "tags", "tag", "categories", "category")


@dataclass(frozen=True)
class ColumnRoles:
    """Positions of the columns that matter, among `n_columns`."""

    texts: tuple[int, ...]
    labels: int | None
    uid: int | None
    group: int | None
    n_columns: int


def has_column_names(first_row: Sequence[str], options: ReadOptions) -> bool:
    """Whether a table's first row is its column names: told, or known by a known name."""
    if options.header != "auto":
        return options.header == "yes"
    told = {options.text_column, options.label_column, options.uid_column, options.group_column}
    known = {*TEXTS, *PARTS, *LABEL_COLUMNS}
    return any(cell in told or cell.strip().lower() in known for cell in first_row)


def roles_by_name(names: Sequence[str], path: Path, options: ReadOptions) -> ColumnRoles:
    """The roles of named columns; an asked-for column that is missing is an error."""
    lower = [name.strip().lower() for name in names]

    def find(setting: str, asked: str | None, guesses: Sequence[str]) -> int | None:
        if asked is not None:
            return _asked(setting, asked, names, path)
        return next((lower.index(guess) for guess in guesses if guess in lower), None)

    text = find("text_column", options.text_column, TEXTS)
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
    """The roles of columns without names: asked for by number, or text first, labels second."""
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
