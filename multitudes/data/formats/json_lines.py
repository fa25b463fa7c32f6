"""JSON lines: one instance per line, ``{"text": "...", "labels": ["a", "b"]}``.

A file that is one JSON array of such objects is read, too.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from multitudes.data.compression import encoding_checked, open_write, peek
from multitudes.data.dataset import Dataset
from multitudes.data.formats.format import TEXTS, Format, label_rows, texts_of, writes_labels
from multitudes.data.formats.json_array import array_batches, is_json_array
from multitudes.data.groups.files import read_groups
from multitudes.data.json_fields import JsonFields
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.label_space import LabelSpace
from multitudes.data.lines import Block, line_blocks, not_an_object, parse_object
from multitudes.data.options import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.records import Columns, Records
from multitudes.data.report import ErrorLog
from multitudes.progress import track

# A block and the objects made of it should stay in the processor's cache: 2 MB halves the speed.
BLOCK_BYTES = 1 << 18
_ROWS_PER_WRITE = 1000
_PEEK_BYTES = 1 << 12


def read_json_lines(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read instances from JSON lines.

    The text is in the fields with usual names (``title``, ``description``, ``text``, ...), joined
    with spaces; labels are a list of names or of ids in ``labels`` (or ``tags``, ...); ``uid`` and
    ``group`` are optional. Other fields and blank lines are ignored. A label listed twice counts
    once.

    Parameters
    ----------
    path : path
        The file, compressed or not.
    options : ReadOptions
        Names of fields, and what to do with bad lines.
    labels : LabelSpace, optional
        The label space to read over.
    """
    reader = JsonLinesReader(Path(path), options, LabelNumbering(options, labels))
    return reader.read()


class JsonLinesReader:
    """Reads one file: most blocks at once, blocks with anything unusual line by line."""

    def __init__(
        self,
        path: Path,
        options: ReadOptions,
        numbering: LabelNumbering,
        group_numbering: LabelNumbering | None = None,
    ) -> None:
        self.path, self.options = path, options
        self.log = ErrorLog(options.on_error)
        groups = read_groups(options, group_numbering or numbering, self.log)
        self.records = Records(path, self.log, numbering, groups)
        self.fields = JsonFields(options, self.records)
        self.n_rows = 0  # rows of the file so far, skipped ones included
        self.skipped_rows: list[int] = []
        self._next_line = 1

    def read(self) -> Dataset:
        """Read all of the file."""
        if is_json_array(peek(self.path, _PEEK_BYTES)):
            for first, objects in array_batches(self.path):
                self.records.add(self._from_array(objects, first))
        else:
            self._read_lines()
        self.fields.check()
        return self.records.dataset(self.options)

    def _read_lines(self) -> None:
        blocks = line_blocks(
            self.path,
            self.log,
            max_line_bytes=self.options.max_line_bytes,
            block_bytes=BLOCK_BYTES,
        )
        for block in blocks:
            with _collector_paused():
                self._feed(block)

    def _from_array(self, objects: list[Any], first: int) -> Columns:
        if set(map(type, objects)) == {dict}:
            columns = self.fields.columns(objects)
            if columns is not None:
                self.n_rows += len(objects)
                return columns
        parsed = (one if isinstance(one, dict) else not_an_object(one) for one in objects)
        return self._checked_rows(enumerate(parsed, first), ": object ")

    def _feed(self, block: Block) -> None:
        for _ in range(block.first_line - self._next_line):  # lines that were too long
            self._skip_row()
        lines = block.data.removesuffix(b"\n").split(b"\n")
        columns = self._all_at_once(lines)
        if columns is None:
            columns = self._one_by_one(lines, block.first_line)
        self.records.add(columns)
        self._next_line = block.first_line + len(lines)

    def _all_at_once(self, lines: list[bytes]) -> Columns | None:
        try:
            objects: list[Any] = list(map(orjson.loads, lines))
        except orjson.JSONDecodeError:
            return None
        if set(map(type, objects)) != {dict}:
            return None
        columns = self.fields.columns(objects)
        if columns is not None:
            self.n_rows += len(lines)
        return columns

    def _one_by_one(self, lines: list[bytes], first_line: int) -> Columns:
        numbered = enumerate(lines, first_line)
        parsed = ((number, parse_object(line)) for number, line in numbered if line.strip())
        return self._checked_rows(parsed, ":")

    def _checked_rows(
        self, records: Iterable[tuple[int, dict[str, Any] | str]], numbered: str
    ) -> Columns:
        """Return the valid rows of numbered records; the others, or reasons, go to the log."""
        rows = []
        for number, record in records:
            row = record if isinstance(record, str) else self.fields.row(record)
            if isinstance(row, str):
                self.log.bad_line(f"{self.path}{numbered}{number}: {row}")
                self._skip_row()
            else:
                rows.append(row)
                self.n_rows += 1
        if not rows:
            return Columns([])
        texts, labels, uids, groups = zip(*rows, strict=True)
        return Columns(
            texts=list(texts),
            labels=None if labels[0] is None else list(labels),
            uids=None if uids[0] is None else list(uids),
            groups=[names or [] for names in groups],
        )

    def _skip_row(self) -> None:
        self.skipped_rows.append(self.n_rows)
        self.n_rows += 1


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause garbage collection: a block has many objects, which are all freed at its end."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def write_json_lines(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write ``uid``, ``text``, ``labels`` and ``group``, those that the Dataset has."""
    texts = texts_of(dataset, JSON_LINES.name)
    has_labels = writes_labels(dataset)

    def record(row: int, labels: list[Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {} if dataset.uids is None else {"uid": dataset.uids[row]}
        fields["text"] = texts[row]
        if has_labels:
            fields["labels"] = labels
        if dataset.groups is not None:
            fields["group"] = dataset.group_names_of(row)
        return fields

    write_records(dataset, Path(path), record, as_names=options.writes_names(dataset))


def write_records(
    dataset: Dataset,
    path: Path,
    record: Callable[[int, list[Any]], dict[str, Any]],
    *,
    as_names: bool,
) -> None:
    """Write ``record(row, labels)`` of each instance, a line each."""
    with open_write(path) as stream, track(f"writing {path.name}", len(dataset)) as task:
        for start in range(0, len(dataset), _ROWS_PER_WRITE):
            rows = range(start, min(start + _ROWS_PER_WRITE, len(dataset)))
            labels = label_rows(dataset, rows, as_names=as_names)
            with encoding_checked(path):
                lines = [
                    orjson.dumps(record(row, labels[row - start]), option=orjson.OPT_APPEND_NEWLINE)
                    for row in rows
                ]
            stream.write(b"".join(lines))
            task.advance(len(rows))


def _sniff(head: bytes) -> bool:
    return head.lstrip().startswith(b"{") or is_json_array(head)


JSON_LINES = Format(
    name="json-lines",
    summary="one JSON object per line, or an array of them: text, labels",
    suffixes=(".jsonl", ".ndjson", ".json"),
    holds=TEXTS,
    holds_groups=True,
    sniff=_sniff,
    read=read_json_lines,
    write=write_json_lines,
)
