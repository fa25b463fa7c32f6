"""Whole lines of a file, compressed or not, in blocks of a few megabytes; JSON objects on lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from multitudes import memory
from multitudes.data.compression import open_bytes, position
from multitudes.data.report import ErrorLog, excerpt
from multitudes.errors import DataError
from multitudes.progress import track

BLOCK_BYTES = 1 << 21
_ASK_BYTES = 1 << 26
_MAX_BLANK_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Block:
    """Some whole lines: `data` ends with a newline, except at the end of the file."""

    first_line: int
    data: bytes


def line_blocks(
    path: str | Path, log: ErrorLog, *, max_line_bytes: int, block_bytes: int = BLOCK_BYTES
) -> Iterator[Block]:
    """Yield a file's lines in blocks; memory is bounded by a block and the longest legal line.

    A line longer than `max_line_bytes` goes to `log` and is left out of its block, but keeps
    its number; when it is skipped the next block starts after it. A UTF-8 byte order mark is
    dropped. An empty file is an error.
    """
    path = Path(path)
    total = path.stat().st_size / 1e6 if path.exists() else None
    done = 0.0
    n_bytes = asked = 0
    with open_bytes(path) as stream, track(f"reading {path.name}", total, "MB") as task:
        # No larger than a legal line: then only a line across blocks can be too long.
        cutter = _Cutter(path, log, max_line_bytes)
        while data := stream.read(min(block_bytes, max_line_bytes)):
            if not n_bytes:
                data = _without_mark(data, path)
            n_bytes += len(data)
            if n_bytes > asked:  # what is made of the lines so far grows on
                more = f"{path}: more than its first {n_bytes:,} bytes"
                memory.ask(n_bytes // 8 + block_bytes, more)
                asked = n_bytes + _ASK_BYTES
            yield from cutter.cut(data)
            task.advance(position(stream) / 1e6 - done)
            done = position(stream) / 1e6
        yield from cutter.rest()
    if not n_bytes:
        raise DataError(f"{path} is empty; expected at least one line of data")


def _without_mark(data: bytes, path: Path) -> bytes:
    if data.startswith(_UTF16_BOMS):
        raise DataError(
            f"{path}:1: the file is UTF-16 (got byte order mark {data[:2]!r}); expected UTF-8: "
            "convert it, e.g. with  iconv -f UTF-16 -t UTF-8"
        )
    return data.removeprefix(_BOM)


class _Cutter:
    """Cuts a stream of chunks at line ends, and takes over-long lines out."""

    def __init__(self, path: Path, log: ErrorLog, limit: int) -> None:
        self.path, self.log, self.limit = path, log, limit
        self.line = 1
        self.carry: list[bytes] = []
        self.carry_bytes = 0
        self.skipping = False
        self.blank_bytes = 0

    def cut(self, data: bytes) -> Iterator[Block]:
        """Yield the whole lines that end in `data`, with their beginning from earlier chunks."""
        first_end = data.find(b"\n")
        if self.skipping:
            if first_end < 0:
                return
            data, self.skipping = data[first_end + 1 :], False
            self.line += 1
            first_end = data.find(b"\n")
        elif self.carry_bytes + (first_end if first_end >= 0 else len(data)) > self.limit:
            self._too_long()
            yield from self.cut(data)
            return
        if first_end < 0:
            self._keep(data)
            return
        last_end = data.rfind(b"\n") + 1
        whole = b"".join([*self.carry, data[:last_end]])
        self.carry, self.carry_bytes = [], 0
        self._check_blank(whole)
        yield Block(self.line, whole)
        self.line += _n_line_ends(whole)
        self._keep(data[last_end:])

    def rest(self) -> Iterator[Block]:
        """Yield the last line, if it has no newline."""
        if self.carry_bytes and not self.skipping:
            yield Block(self.line, b"".join(self.carry))

    def _check_blank(self, lines: bytes) -> None:
        self.blank_bytes = self.blank_bytes + len(lines) if lines.isspace() else 0
        if self.blank_bytes > _MAX_BLANK_BYTES:
            raise DataError(
                f"{self.path}:{self.line}: more than {_MAX_BLANK_BYTES:,} bytes of blank lines; "
                "expected data: check the file"
            )

    def _keep(self, data: bytes) -> None:
        if data:
            self.carry.append(data)
            self.carry_bytes += len(data)

    def _too_long(self) -> None:
        self.carry, self.carry_bytes = [], 0
        self.skipping = True
        self.log.bad_line(
            f"{self.path}:{self.line}: the line is longer than max_line_bytes "
            f"({self.limit:,} bytes); expected one instance per line: raise max_line_bytes, or "
            "check that the file has line ends"
        )


def _n_line_ends(data: bytes) -> int:
    # Five times as fast as data.count for lines of usual length.
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))


def json_objects(
    path: str | Path, log: ErrorLog, *, max_line_bytes: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for each line of a JSON lines file, without blank lines.

    This is for files of labels and groups; instances have a faster reader of their own.
    """
    for block in line_blocks(path, log, max_line_bytes=max_line_bytes):
        for number, line in enumerate(block.data.splitlines(), block.first_line):
            if not line.strip():
                continue
            value = parse_object(line)
            if isinstance(value, str):
                log.bad_line(f"{path}:{number}: {value}")
            else:
                yield number, value


def parse_object(line: bytes) -> dict[str, Any] | str:
    """Return the JSON object of one line, or what is wrong with the line."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return _what_is_broken(line, error)
    return value if isinstance(value, dict) else not_an_object(value)


def not_an_object(value: Any) -> str:
    """Return what is wrong with JSON that is not an object."""
    return (
        f"the line is JSON but not an object (got {excerpt(value)}); "
        'expected {"text": ..., "labels": [...]}'
    )


def _what_is_broken(line: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        line.decode()
    except UnicodeDecodeError as decoding:
        return (
            f"invalid UTF-8 at byte {decoding.start + 1} of the line "
            f"(got {excerpt(line[decoding.start : decoding.start + 8])}); expected UTF-8: convert "
            "the file, e.g. with  iconv -t UTF-8"
        )
    if line.strip() in (b"{", b"["):
        return (
            f"an object must be on one line (got {excerpt(line.strip().decode())}); expected "
            "one whole object per line: convert the file, e.g. with  jq -c"
        )
    near = line.decode()[max(0, error.colno - 20) : error.colno + 20]
    return (
        f"broken JSON at column {error.colno}: {error.msg.split(':')[0]} (got {excerpt(near)} "
        "there); expected one whole JSON object per line: correct the line"
    )
