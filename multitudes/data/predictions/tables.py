"""Prediction tables, with a row per label: CSV, TSV and Parquet, read back.

`multitudes.data.predictions.writing` says which columns they have. Rows may stand in any order, as
after sorting in a spreadsheet, and other columns may stand beside them.
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from multitudes.data.compression import peek
from multitudes.data.formats.delimited import delimited_rows, field_limit
from multitudes.data.formats.parquet import listed, open_parquet, row_batches
from multitudes.data.options import ReadOptions
from multitudes.data.report import ErrorLog, excerpt
from multitudes.errors import DataError, require
from multitudes.types import FloatArray, IntArray, LabelArray

NEEDED = ("rank", "label", "score")
INSTANCES = ("uid", "row")
ROWS_AT_ONCE = 10_000
LARGEST_RANK = 2**62
_MAGIC_OF_PARQUET = b"PAR1"
_MARK = b"\xef\xbb\xbf"
_PEEK_BYTES = 1 << 12


class TableRows(NamedTuple):
    """What a table holds; the fields of a `PredictionFile`."""

    counts: IntArray
    labels: LabelArray
    scores: FloatArray
    names: list[str]
    uids: list[str] | None


def is_prediction_table(path: Path) -> bool:
    """Return whether a file is a table of predictions: its header has their columns."""
    return _has_columns(_header(path))


def read_prediction_table(path: Path) -> TableRows:
    """Read a table of predictions; what is wrong is said with file and row."""
    header = _header(path)
    key = next(name for name in INSTANCES if name in header)
    found = _Rows(path, by_row=key == "row")
    places = [header.index(name) for name in (key, *NEEDED)]
    for number, cells in _parquet_rows(path) if _is_parquet(path) else _delimited_rows(path):
        try:
            found.add(*(cells[place] for place in places))
        except (ValueError, IndexError) as error:
            raise DataError(f"{path}: row {number}: {error}; the row is {excerpt(cells)}") from None
    return found.in_order()


def _has_columns(header: Sequence[str]) -> bool:
    return all(name in header for name in NEEDED) and any(name in header for name in INSTANCES)


def _header(path: Path) -> list[str]:
    """Return the names of the columns, or those that a first line seems to hold."""
    if _is_parquet(path):
        require("pyarrow", extra="parquet")
        with open_parquet(path) as file:
            return list(file.schema_arrow.names)
    line = peek(path, _PEEK_BYTES).removeprefix(_MARK).partition(b"\n")[0]
    try:
        text = line.decode().rstrip("\r")
    except UnicodeDecodeError:
        return []
    try:
        return next(csv.reader([text], delimiter=_delimiter(text)), [])
    except csv.Error:
        return []


def _delimiter(first_line: str) -> str:
    """Return what separates cells; a spreadsheet may have put semicolons."""
    return max(",\t;", key=first_line.count)


def _is_parquet(path: Path) -> bool:
    return peek(path, 4) == _MAGIC_OF_PARQUET


def _delimited_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of a row, its cells), after the header."""
    first = peek(path, _PEEK_BYTES).partition(b"\n")[0].decode(errors="replace")
    options = ReadOptions(delimiter=_delimiter(first))
    with field_limit(options.max_line_bytes):
        yield from islice(delimited_rows(path, options, ErrorLog("strict")), 1, None)


def _parquet_rows(path: Path) -> Iterator[tuple[int, list[Any]]]:
    """Yield (number of a row from 1, its cells)."""
    number = 0
    with open_parquet(path) as file:
        for batch in row_batches(file, ROWS_AT_ONCE):
            for cells in zip(*map(listed, batch.columns), strict=True):
                number += 1
                yield number, list(cells)


class _Rows:
    """Rows of a table as compact arrays, in the order in which they come."""

    def __init__(self, path: Path, *, by_row: bool) -> None:
        self.path, self.by_row = path, by_row
        self.names: dict[str, int] = {}
        self.instances: dict[str, int] = {}
        self.of, self.labels, self.ranks = array("q"), array("i"), array("q")
        self.scores = array("f")

    def add(self, instance: Any, rank: Any, label: Any, score: Any) -> None:
        """Append one row; a ValueError says what is wrong with it."""
        key = str(instance).strip()
        if self.by_row and not re.fullmatch(r"[0-9]{1,18}", key):
            raise ValueError(f"row must be a whole number, got {excerpt(instance)}")
        number = self.instances.setdefault(key, len(self.instances))
        if label in (None, ""):
            return  # an instance without labels
        place = _number(rank, "rank", len(self.of))
        if abs(place) > LARGEST_RANK:
            raise ValueError(f"rank must be at most {LARGEST_RANK:,}, got {excerpt(rank)}")
        self.of.append(number)
        self.labels.append(self.names.setdefault(str(label), len(self.names)))
        self.ranks.append(int(place))
        self.scores.append(_number(score, "score", -place))

    def in_order(self) -> TableRows:
        """Return the predictions, instances in order and the labels of each by rank."""
        of, n = np.array(self.of, np.int64), len(self.instances)
        uids: list[str] | None = list(self.instances)
        if self.by_row:
            rows = np.array([int(key) for key in self.instances], np.int64)
            self._check_rows(rows)
            of, uids = rows[of], None
        order = np.lexsort((np.array(self.ranks, np.int64), of))
        return TableRows(
            np.bincount(of, minlength=n).astype(np.int64),
            np.array(self.labels, np.int32)[order],
            np.array(self.scores, np.float32)[order],
            list(self.names),
            uids,
        )

    def _check_rows(self, rows: Any) -> None:
        missing = np.setdiff1d(np.arange(len(rows)), rows)
        if len(missing):
            raise DataError(
                f"{self.path} has {len(rows):,} instances, but none with row {missing[0]:,}: an "
                "instance without labels keeps a row whose other cells are empty"
            )


def _number(cell: Any, name: str, default: float) -> float:
    """Return the number in a cell; `default` for an empty one."""
    if cell is None or cell == "":
        return default
    try:
        value = float(cell)
    except (ValueError, TypeError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {excerpt(cell)}")
    return value
