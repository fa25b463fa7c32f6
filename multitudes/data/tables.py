"""Tables of pandas, polars and Hugging Face: the columns that a Dataset is made of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from multitudes.data.label_lists import SEPARATORS, as_list, checked_row, label_lists_matrix
from multitudes.errors import DataError, suggestion

SEARCHED_ROWS = 1_000
WRITTEN_LIST = re.compile(r"""\[(?:'.*'|".*")\]""", re.DOTALL)  # what pandas writes for a list


class Table(NamedTuple):
    """A table of any library.

    Attributes
    ----------
    columns : list of str
        The names of its columns.
    column : function of str
        Returns the values of a column as a list.
    numbered : mapping from column to names
        Columns whose labels are numbers, and what each number stands for.
    """

    columns: list[str]
    column: Callable[[str], list[Any]]
    numbered: dict[str, Sequence[str]]


def frame_table(frame: Any) -> Table:
    """Return a DataFrame of pandas or polars, or anything with `columns`, as a Table."""
    if hasattr(frame, "collect") and hasattr(frame, "lazy"):
        frame = frame.collect()  # a LazyFrame of polars
    columns = getattr(frame, "column_names", None)  # of pyarrow
    if columns is None:
        columns = getattr(frame, "columns", None)
    if columns is None or not hasattr(frame, "__getitem__"):
        raise DataError(
            f"from_pandas takes a DataFrame of pandas or polars, got {type(frame).__name__}: "
            "for lists use Dataset.from_lists, for Hugging Face Dataset.from_huggingface"
        )
    repeated = [name for name, count in Counter(as_list(columns)).items() if count > 1]
    if repeated:
        raise DataError(f"the table has several columns {repeated[0]!r}: rename them")
    return Table(as_list(columns), lambda name: as_list(frame[name]), {})


def huggingface_table(data: Any) -> Table:
    """Return a Dataset of Hugging Face's `datasets`, one split of it, as a Table."""
    if isinstance(data, dict):
        splits = ", ".join(map(repr, data))
        raise DataError(f"this holds several splits ({splits}): give one of them, data[split]")
    columns = getattr(data, "column_names", None)
    if columns is None:
        raise DataError(
            f"from_huggingface takes a datasets.Dataset, got {type(data).__name__}: for a "
            "DataFrame use Dataset.from_pandas, for lists Dataset.from_lists"
        )
    numbered = {}
    for name, feature in (getattr(data, "features", None) or {}).items():
        names = getattr(getattr(feature, "feature", feature), "names", None)  # List of, or one
        if names is not None:
            numbered[name] = names
    if hasattr(data, "__getitem__"):
        return Table(list(columns), lambda name: as_list(data[name]), numbered)
    return Table(list(columns), lambda name: [row[name] for row in data], numbered)  # a stream


def table_parts(
    table: Table,
    text: str | Sequence[str],
    labels: str | Sequence[str],
    separator: str | None,
    label_names: Sequence[str] | None,
    uid: str | None,
) -> dict[str, Any]:
    """Return texts, Y, label_names and uids of a Dataset; see `Dataset.from_pandas`."""
    wanted, several = _names(text), _names(labels)
    for name in (*wanted, *several, *([] if uid is None else [uid])):
        if name not in table.columns:
            known = [str(column) for column in table.columns]
            raise DataError(f"the table has no column {name!r}: {suggestion(name, known)}")
    if not wanted or not several:
        raise DataError("text and labels must name at least one column each")
    texts = joined_texts(table, wanted)
    if _is_one(labels):
        Y, names = label_lists_matrix(label_rows(table, several[0], separator), label_names)
    else:
        Y, names = indicator_matrix(table, several), [str(name) for name in several]
    uids = None if uid is None else [str(value) for value in table.column(uid)]
    return {"texts": texts, "Y": Y, "label_names": names, "uids": uids}


def joined_texts(table: Table, names: Sequence[str]) -> list[str]:
    """Return the texts of a column; of several, joined by a space without those that are missing.

    A row without any text is an error.
    """
    columns = [table.column(name) for name in names]
    texts = []
    for number, values in enumerate(zip(*columns, strict=True)):
        present = [value for value in values if not is_missing(value)]
        for value in present:
            if not isinstance(value, str):
                raise DataError(
                    f"row {number} of column {names[values.index(value)]!r} holds {value!r} "
                    f"({type(value).__name__}), not a text: convert it with str, or name another "
                    "column"
                )
        if not present:
            raise DataError(
                f"row {number} has no text in {_listed(names)}: leave the row out "
                f"(frame.dropna(subset=...) in pandas), or fill in ''"
            )
        texts.append(" ".join(value for value in present if value) if len(names) > 1 else values[0])
    return texts


def label_rows(table: Table, name: str, separator: str | None) -> list[list[str]]:
    """Return the label names of each row: of lists, or of strings between separators."""
    if separator == "":
        raise DataError("separator must not be empty")
    values, numbers = table.column(name), table.numbered.get(name)
    rows = []
    for number, value in enumerate(values):
        where = f"row {number} of column {name!r}"
        if is_missing(value):
            row: list[str] = []
        elif numbers is not None:
            row = _of_numbers(value, numbers, where)
        elif isinstance(value, str):
            if separator is None or WRITTEN_LIST.fullmatch(value):
                raise DataError(_not_lists(name, values, value))
            row = [part for part in map(str.strip, value.split(separator)) if part]
        else:
            row = checked_row(value, where)
        rows.append(row)
    return rows


def indicator_matrix(table: Table, names: Sequence[str]) -> sp.csr_array[Any]:
    """Return Y of columns that hold 0 or 1, column by column."""
    rows, columns = [], []
    n = 0
    for label, name in enumerate(names):
        values = table.column(name)
        n = len(values)
        for number, value in enumerate(values):
            if is_missing(value) or value not in (0, 1):
                raise DataError(
                    f"row {number} of column {name!r} holds {value!r}: several columns of labels "
                    "hold 1 where a text has the label, else 0; for a column of names give "
                    f"labels={name!r}"
                )
        found = np.flatnonzero(np.array(values, bool))
        rows.append(found)
        columns.append(np.full(len(found), label))
    where = (np.concatenate(rows), np.concatenate(columns))
    ones: Any = np.ones(len(where[0]), np.float32)
    return sp.csr_array((ones, where), shape=(n, len(names)))


def is_missing(value: Any) -> bool:
    """Return whether a cell is empty: None, NaN, or pandas' NA, of which nothing is equal to it."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _of_numbers(value: Any, names: Sequence[str], where: str) -> list[str]:
    numbers: Iterable[Any] = value if hasattr(value, "__iter__") else [value]
    row = []
    for number in numbers:
        if not 0 <= number < len(names):
            raise DataError(f"{where} holds label {number!r}, of {len(names):,} that have a name")
        row.append(str(names[number]))
    return row


def _not_lists(name: str, values: Sequence[Any], value: str) -> str:
    """Return what is wrong with texts for labels, and the separator that they seem to have."""
    some = [value for value in values[:SEARCHED_ROWS] if isinstance(value, str)]
    counts = {mark: sum(mark in value for value in some) for mark in SEPARATORS}
    likely = max(SEPARATORS, key=lambda mark: counts[mark])
    if WRITTEN_LIST.fullmatch(value):
        advice = "they are lists as pandas writes them: frame[column].map(ast.literal_eval) reads"
        advice += " them"
    elif counts[likely]:
        advice = f"say what is between labels, e.g. separator={likely!r}"
    else:
        advice = (
            "say what is between labels with separator=...; if each is one label, any mark will "
            r"do that never occurs, e.g. separator='\n'"
        )
    shown = value if len(value) <= 60 else value[:57] + "..."
    return f"column {name!r} holds texts ({shown!r}), not lists of label names: {advice}"


def _is_one(columns: Any) -> bool:
    return isinstance(columns, str) or not hasattr(columns, "__iter__")


def _names(columns: Any) -> list[Any]:
    """Return names of columns, given one or several; pandas also has numbers for names."""
    return [columns] if _is_one(columns) else as_list(columns)


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(map(repr, names))
    return f"column {listed}" if len(names) == 1 else f"columns {listed}"
