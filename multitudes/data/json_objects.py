"""JSON objects, one per line, with errors that name file, line and column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from multitudes.data.lines import line_blocks
from multitudes.data.report import ErrorLog, excerpt


def json_objects(
    path: str | Path, log: ErrorLog, *, max_line_bytes: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for each line; blank lines are passed over.

    The plain way, for files of labels and groups; `json_lines` has the fast one.
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
    """The object of one line, or what is wrong with the line."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return _what_is_broken(line, error)
    if isinstance(value, dict):
        return value
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
            f"an object must stand on one line (got {excerpt(line.strip().decode())}); expected "
            "one whole object per line: convert the file, e.g. with  jq -c"
        )
    near = line.decode()[max(0, error.colno - 20) : error.colno + 20]
    return (
        f"broken JSON at column {error.colno}: {error.msg.split(':')[0]} (got {excerpt(near)} "
        "there); expected one whole JSON object per line: correct the line"
    )
