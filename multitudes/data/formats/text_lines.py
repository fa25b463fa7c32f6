"""Formats of one instance per line of text: what their readers and writers share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from multitudes.data.compression import encoding_checked, open_write
from multitudes.data.dataset import Dataset
from multitudes.data.formats.format import label_rows, texts_of
from multitudes.data.groups.files import with_groups
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.label_space import LabelSpace
from multitudes.data.lines import line_blocks
from multitudes.data.options import ReadOptions, WriteOptions
from multitudes.data.records import Columns, Records
from multitudes.data.report import ErrorLog, excerpt
from multitudes.progress import track

ROWS_AT_ONCE = 1000
_LINE_END = re.compile(r"[\t\r\n\v\f\0]+")

Parsed = tuple[str, list[str] | None]
Parser = Callable[[str], Parsed | str]


def read_text_lines(
    path: Path,
    options: ReadOptions,
    parse: Parser,
    *,
    labels: LabelSpace | None,
    taken: str,
    blank_lines: bool = False,
) -> Dataset:
    """Read a file whose lines `parse` takes apart.

    Parameters
    ----------
    path : Path
    options : ReadOptions
    parse : callable
        ``parse(line)`` returns (text, labels), or what is wrong with the line. Labels are None in
        formats without any.
    labels : LabelSpace, optional
        The label space to read over.
    taken : str
        What is read as what, for the report.
    blank_lines : bool
        Whether blank lines are instances, too.
    """
    log = ErrorLog(options.on_error)
    numbering = LabelNumbering(options, labels)
    records = Records(path, log, numbering)
    records.taken = taken
    for block in line_blocks(path, log, max_line_bytes=options.max_line_bytes):
        rows: list[Parsed] = []
        lines = block.data.removesuffix(b"\n").split(b"\n")
        for number, line in enumerate(lines, block.first_line):
            if not blank_lines and not line.strip():
                continue
            row = _row(line, parse, numbering)
            if isinstance(row, str):
                log.bad_line(f"{path}:{number}: {row}")
            else:
                rows.append(row)
        records.add(_columns(rows))
    dataset = records.dataset(options)
    n_labels = None if labels is None else dataset.n_labels
    return with_groups(dataset, options, n_labels=n_labels)


def _row(line: bytes, parse: Parser, numbering: LabelNumbering) -> Parsed | str:
    try:
        text = line.removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        return (
            f"invalid UTF-8 at byte {error.start + 1} of the line (got "
            f"{excerpt(line[error.start : error.start + 8])}); expected UTF-8: convert the file, "
            "e.g. with  iconv -t UTF-8"
        )
    row = parse(text)
    if isinstance(row, str):
        return row
    return numbering.problem(row[1] or ()) or row


def _columns(rows: list[Parsed]) -> Columns:
    labels = [row[1] for row in rows if row[1] is not None]
    return Columns([row[0] for row in rows], labels if len(labels) == len(rows) else None)


def write_text_lines(
    dataset: Dataset,
    path: str | Path,
    options: WriteOptions,
    line: Callable[[str, list[str]], str],
    *,
    format: str,
) -> None:
    """Write ``line(text, labels)`` of each instance; line ends and tabs in texts become spaces."""
    with open_write(path) as stream, track(f"writing {Path(path).name}", len(dataset)) as task:
        for text, labels in text_rows(dataset, options, format=format):
            with encoding_checked(path):
                stream.write(line(one_line(text), labels).encode() + b"\n")
            task.advance()


def text_rows(
    dataset: Dataset, options: WriteOptions, *, format: str
) -> Iterator[tuple[str, list[str]]]:
    """Yield text and labels of each instance, as they are to be written."""
    texts, as_names = texts_of(dataset, format), options.writes_names(dataset)
    for start in range(0, len(dataset), ROWS_AT_ONCE):
        rows = range(start, min(start + ROWS_AT_ONCE, len(dataset)))
        labels = label_rows(dataset, rows, as_names=as_names)
        for text, row in zip(texts[start : rows.stop], labels, strict=True):
            yield text, list(map(str, row))


def one_line(text: str) -> str:
    """Return a text without line ends and tabs."""
    return _LINE_END.sub(" ", text)


def first_lines(head: bytes, n: int = 20) -> Iterable[bytes]:
    """Return the first whole lines of a file that are not blank, or the only, cut one."""
    whole, newline, _ = head.rpartition(b"\n")
    lines = (whole if newline else head).split(b"\n")
    return [line.removesuffix(b"\r") for line in lines if line.strip()][:n]
