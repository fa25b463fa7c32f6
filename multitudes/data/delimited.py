"""CSV and TSV: a text column, a label column, a separator between the labels of a field."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from multitudes.data.columns import (
    ColumnRoles,
    has_column_names,
    roles_by_name,
    roles_by_position,
)
from multitudes.data.compression import open_write, uncompressed_suffix
from multitudes.data.dataset import Dataset
from multitudes.data.delimiter import guess_delimiter
from multitudes.data.formats import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.label_field import join_labels
from multitudes.data.label_space import LabelSpace
from multitudes.data.lines import line_blocks
from multitudes.data.report import ErrorLog, excerpt
from multitudes.data.table import ROWS_AT_ONCE, Table
from multitudes.data.writing import check_writable, encoding_checked, label_rows, writes_labels
from multitudes.progress import track


def read_delimited(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read CSV or TSV, with or without column names, quoted as in RFC 4180.

    Columns are named in `options`, or guessed: ``text``, or ``title`` and ``content``;
    ``labels``; ``uid``; ``group``. A file without column names has its text first and its
    labels second, or says which by number. Blank lines are passed over; empty labels (as in
    ``a;;b``) and spaces around a label do not count.

    Parameters
    ----------
    path : path
        The file, compressed or not.
    options : ReadOptions
        Columns, delimiter, label separator, and what to do with bad lines.
    labels : LabelSpace, optional
        The labels fixed beforehand.
    """
    path = Path(path)
    table = Table(path, options, labels)
    with _field_limit(options.max_line_bytes):
        rows = _rows(path, options, table.log)
        first = next(rows, None)
        if first is not None:
            roles, is_names = _roles(first[1], path, options)
            rows = rows if is_names else chain([first], rows)
            while batch := list(islice(rows, ROWS_AT_ONCE)):
                table.add(batch, roles)
    return table.dataset()


def _roles(first_row: list[str], path: Path, options: ReadOptions) -> tuple[ColumnRoles, bool]:
    if has_column_names(first_row, options):
        return roles_by_name(first_row, path, options), True
    return roles_by_position(len(first_row), path, options), False


def _rows(path: Path, options: ReadOptions, log: ErrorLog) -> Iterator[tuple[int, list[str]]]:
    """(line number, fields) of each row; bad ones go to the log, blank ones nowhere."""
    lines = _Lines(path, log, options.max_line_bytes)
    delimiter = options.delimiter or guess_delimiter(path, options)
    reader = csv.reader(
        iter(lines),
        delimiter=delimiter,
        quotechar=options.quote or None,
        quoting=csv.QUOTE_MINIMAL if options.quote else csv.QUOTE_NONE,
        strict=True,
    )
    while True:
        lines.new_row()
        try:
            fields = next(reader, None)
        except csv.Error as error:
            log.bad_line(f"{path}:{lines.row_start}: {_csv_problem(error)}")
            continue
        if fields is None:
            return
        if lines.undecodable is not None:
            log.bad_line(
                f"{path}:{lines.undecodable}: invalid UTF-8 (got "
                f"{excerpt(delimiter.join(fields))}); expected UTF-8: convert the file, "
                "e.g. with  iconv -t UTF-8"
            )
        elif fields:
            yield lines.row_start, fields


class _Lines:
    """Text lines with their ends, which remember where a row that spans several began."""

    def __init__(self, path: Path, log: ErrorLog, max_line_bytes: int) -> None:
        self.path, self.log, self.max_line_bytes = path, log, max_line_bytes
        self.new_row()

    def new_row(self) -> None:
        """The next line begins a row."""
        self.row_start = 0
        self.undecodable: int | None = None

    def __iter__(self) -> Iterator[str]:
        for block in line_blocks(self.path, self.log, max_line_bytes=self.max_line_bytes):
            try:
                text, sound = block.data.decode(), True
            except UnicodeDecodeError:
                text, sound = block.data.decode(errors="surrogateescape"), False
            # Iterating a StringIO cuts at newlines; str.splitlines knows ten other characters.
            for number, line in enumerate(io.StringIO(text, newline="\n"), block.first_line):
                self.row_start = self.row_start or number
                if not sound and self.undecodable is None and not _is_unicode(line):
                    self.undecodable = number
                yield line


def _is_unicode(line: str) -> bool:
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def _field_limit(limit: int) -> Iterator[None]:
    """Allow fields as long as a legal line; the limit belongs to the csv module, so put it back."""
    before = csv.field_size_limit(limit)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _csv_problem(error: csv.Error) -> str:
    what = str(error)
    if "field larger than" in what:
        what = "a field is longer than max_line_bytes"
    return (
        f"broken quoting ({what}); expected quotes around whole fields, doubled inside: correct "
        "the line, or set quote='' if quotes mean nothing in this file"
    )


def write_delimited(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write the columns ``uid``, ``text``, ``labels`` and ``group`` that the Dataset has.

    A label that contains the separator, or has spaces around it, is an error: it would not
    come back.
    """
    texts = check_writable(dataset, "csv")
    delimiter = options.delimiter or ("\t" if _is_tsv(path) else ",")
    names = ["text"]
    if writes_labels(dataset):
        names.append("labels")
    if dataset.uids is not None:
        names.insert(0, "uid")
    if dataset.groups is not None:
        names.append("group")
    with open_write(path) as stream, track(f"writing {Path(path).name}", len(dataset)) as task:
        buffer = io.StringIO(newline="")
        # QUOTE_ALL: the minimum differs between Python versions for a lone carriage return.
        writer = csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(names)
        for start in range(0, len(dataset), ROWS_AT_ONCE):
            rows = range(start, min(start + ROWS_AT_ONCE, len(dataset)))
            labels = label_rows(dataset, rows, options.label_kind)
            writer.writerows(
                _fields(dataset, texts[i], i, labels[i - start], options) for i in rows
            )
            with encoding_checked(path):
                stream.write(buffer.getvalue().encode())
            buffer.seek(0)
            buffer.truncate()
            task.advance(len(rows))
        stream.write(buffer.getvalue().encode())


def _fields(
    dataset: Dataset, text: str, row: int, labels: list[Any], options: WriteOptions
) -> list[str]:
    fields = [text]
    if writes_labels(dataset):
        fields.append(join_labels(labels, options.label_separator))
    if dataset.uids is not None:
        fields.insert(0, dataset.uids[row])
    if dataset.groups is not None:
        fields.append(join_labels(dataset.group_names_of(row), options.label_separator))
    return fields


def _is_tsv(path: str | Path) -> bool:
    return uncompressed_suffix(path) in (".tsv", ".tab")
