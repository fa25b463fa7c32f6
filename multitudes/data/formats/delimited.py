"""CSV and TSV: a text column, a label column, a separator between the labels of a field."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

from multitudes.data.compression import encoding_checked, open_write, peek, uncompressed_suffix
from multitudes.data.dataset import Dataset
from multitudes.data.formats.format import TEXTS, Format, label_rows, texts_of, writes_labels
from multitudes.data.formats.label_field import label_writer
from multitudes.data.formats.tabular import (
    ROWS_AT_ONCE,
    ColumnRoles,
    Table,
    has_column_names,
    roles_by_name,
    roles_by_position,
)
from multitudes.data.label_space import LabelSpace
from multitudes.data.lines import line_blocks
from multitudes.data.options import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.report import ErrorLog, excerpt
from multitudes.progress import track

DELIMITERS = ("\t", ",", ";")
TSV_SUFFIXES = (".tsv", ".tab")
_PEEK_BYTES = 1 << 16
_PEEK_ROWS = 20


def read_delimited(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read CSV or TSV, with or without column names, quoted as in RFC 4180.

    Columns are named in `options`, or found by usual names: those of texts are joined (``title``,
    ``description``, ``text``, ...), then ``labels`` or ``tags``, ``uid``, ``group``. A file without
    column names has its text first and its labels second, or `options` say which by number. Blank
    lines, empty labels (as in ``a;;b``) and spaces around a label are ignored.

    Parameters
    ----------
    path : path
        The file, compressed or not.
    options : ReadOptions
        Columns, delimiter, label separator, and what to do with bad lines.
    labels : LabelSpace, optional
        The label space to read over.
    """
    path = Path(path)
    table = Table(path, options, labels)
    with field_limit(options.max_line_bytes):
        rows = delimited_rows(path, options, table.log)
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


def delimited_rows(
    path: Path, options: ReadOptions, log: ErrorLog
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of each row that is not blank; bad ones go to the log."""
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
        """Note that the next line begins a row."""
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
def field_limit(limit: int) -> Iterator[None]:
    """Allow fields as long as a legal line, then restore the limit, which is the csv module's."""
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


def guess_delimiter(path: str | Path, options: ReadOptions) -> str:
    """Guess the delimiter of a CSV file from its first lines.

    A ``.tsv`` file has tabs. Otherwise the first of tab, comma and semicolon that gives known
    column names wins; then the first that cuts all of the first rows into equally many fields,
    more than one; then the first that cuts the first row at all.
    """
    if uncompressed_suffix(path) in TSV_SUFFIXES:
        return "\t"
    head = peek(path, _PEEK_BYTES).decode("utf-8-sig", errors="replace")
    widths = {}
    for delimiter in DELIMITERS:
        rows = _first_rows(head, delimiter, options.quote)
        widths[delimiter] = [len(row) for row in rows]
        if rows and len(rows[0]) > 1 and options.header != "no" and _known(rows[0], options):
            return delimiter
    for delimiter, counts in widths.items():
        if len(set(counts)) == 1 and counts[0] > 1:
            return delimiter
    return next((d for d, counts in widths.items() if counts and counts[0] > 1), ",")


def looks_like_table(head: bytes) -> bool:
    """Return whether a file is surely a table: its first rows have equally many fields.

    They are separated by tabs, or the first row has a usual column name: sentences have commas too.
    """
    text = head.decode("utf-8-sig", errors="replace")
    for delimiter in DELIMITERS:
        rows = _first_rows(text, delimiter, DEFAULT_READ.quote)
        if rows and len(rows[0]) > 1 and len(set(map(len, rows))) == 1:
            return delimiter == "\t" or has_column_names(rows[0], DEFAULT_READ)
    return False


def _known(row: list[str], options: ReadOptions) -> bool:
    return has_column_names(row, dataclasses.replace(options, header="auto"))


def _first_rows(head: str, delimiter: str, quote: str) -> list[list[str]]:
    reader = csv.reader(
        io.StringIO(head, newline="\n"),
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
    )
    try:
        return [row for row in islice(reader, _PEEK_ROWS) if row]
    except csv.Error:
        return []


def write_delimited(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write the columns ``uid``, ``text``, ``labels`` and ``group`` that the Dataset has.

    Labels stand between ``;``, or are JSON lists if one of them could be misread so. With
    ``options.label_separator``, a label that contains it, or has spaces around it, is an error.
    """
    columns = _columns(dataset, options)
    is_tsv = uncompressed_suffix(path) in TSV_SUFFIXES
    with open_write(path) as stream, track(f"writing {Path(path).name}", len(dataset)) as task:
        buffer = io.StringIO(newline="")
        # QUOTE_ALL: the minimum differs between Python versions for a lone carriage return.
        writer = csv.writer(
            buffer,
            delimiter=options.delimiter or ("\t" if is_tsv else ","),
            quoting=csv.QUOTE_ALL,
            lineterminator="\n",
        )
        writer.writerow(columns)
        for start in range(0, len(dataset), ROWS_AT_ONCE):
            rows = range(start, min(start + ROWS_AT_ONCE, len(dataset)))
            writer.writerows(zip(*(column(rows) for column in columns.values()), strict=True))
            with encoding_checked(path):
                stream.write(buffer.getvalue().encode())
            buffer.seek(0)
            buffer.truncate()
            task.advance(len(rows))
        stream.write(buffer.getvalue().encode())


def _columns(
    dataset: Dataset, options: WriteOptions
) -> dict[str, Callable[[range], Sequence[str]]]:
    """Return the columns to write: by name, the fields of some rows."""
    uids, texts = dataset.uids, texts_of(dataset, CSV.name)
    as_names = options.writes_names(dataset)
    names = (dataset.label_names or ()) if as_names else ()
    label_field = label_writer(names, options.label_separator)
    group_field = label_writer(dataset.group_names or (), options.label_separator)

    def labels(rows: range) -> list[str]:
        return [label_field(row) for row in label_rows(dataset, rows, as_names=as_names)]

    def groups(rows: range) -> list[str]:
        return [group_field(dataset.group_names_of(row)) for row in rows]

    columns: dict[str, Callable[[range], Sequence[str]]] = {}
    if uids is not None:
        columns["uid"] = lambda rows: uids[rows.start : rows.stop]
    columns["text"] = lambda rows: texts[rows.start : rows.stop]
    if writes_labels(dataset):
        columns["labels"] = labels
    if dataset.groups is not None:
        columns["group"] = groups
    return columns


def read_tsv(path: Path, options: ReadOptions, *, labels: LabelSpace | None = None) -> Dataset:
    """Read a table whose delimiter is a tab unless `options` has another."""
    options = dataclasses.replace(options, delimiter=options.delimiter or "\t")
    return read_delimited(path, options, labels=labels)


def write_tsv(dataset: Dataset, path: Path, options: WriteOptions) -> None:
    """Write a table whose delimiter is a tab unless `options` has another."""
    options = dataclasses.replace(options, delimiter=options.delimiter or "\t")
    write_delimited(dataset, path, options)


def _sniff_tsv(head: bytes) -> bool:
    return b"\x00" not in head and b"\t" in _first_line(head)


def _sniff_csv(head: bytes) -> bool:
    line = _first_line(head)
    return b"\x00" not in head and b"\t" not in line and (b"," in line or b";" in line)


def _first_line(head: bytes) -> bytes:
    return head.lstrip().split(b"\n", 1)[0]


TSV = Format(
    name="tsv",
    summary="tab-separated values",
    suffixes=TSV_SUFFIXES,
    holds=TEXTS,
    holds_groups=True,
    sniff=_sniff_tsv,
    certain=False,
    read=read_tsv,
    write=write_tsv,
)
CSV = Format(
    name="csv",
    summary="comma-separated values (or another delimiter)",
    suffixes=(".csv",),
    holds=TEXTS,
    holds_groups=True,
    sniff=_sniff_csv,
    certain=False,
    read=read_delimited,
    write=write_delimited,
)
