"""A file that is one JSON array of objects, ``[{...}, {...}]``, instead of an object per line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from multitudes import memory
from multitudes.data.compression import open_bytes, read_whole
from multitudes.data.report import excerpt
from multitudes.errors import DataError
from multitudes.progress import track

OBJECTS_AT_ONCE = 1000
_OBJECT_BYTES = 184
_VALUE_BYTES = 64
_BOM = b"\xef\xbb\xbf"
_START = re.compile(rb"\s*\[\s*(\{|\]\s*$)")


def is_json_array(head: bytes) -> bool:
    """Return whether a file that starts like this is one array of objects."""
    return _START.match(head.removeprefix(_BOM)) is not None


def array_batches(path: Path) -> Iterator[tuple[int, list[Any]]]:
    """Yield (number of the first, some objects) of the array; numbers count from 1.

    The whole file is parsed at once, so it needs several times its size in memory.
    """
    with track(f"reading {path.name}"), open_bytes(path) as stream:
        data = read_whole(stream, path).removeprefix(_BOM)
        memory.ask(_bytes_of_objects(data), f"{path}: an array of {data.count(b'{'):,} objects")
        try:
            objects = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise DataError(f"{path}:{error.lineno}: {_problem(data, error)}") from error
    for start in range(0, len(objects), OBJECTS_AT_ONCE):
        yield start + 1, objects[start : start + OBJECTS_AT_ONCE]


def _bytes_of_objects(data: bytes) -> int:
    """Estimate what parsed JSON takes: its texts, and an object or a number per mark."""
    marks = data.count(b",") + data.count(b"[")
    return len(data) + _OBJECT_BYTES * data.count(b"{") + _VALUE_BYTES * marks


def _problem(data: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        near = data.decode()[max(0, error.pos - 20) : error.pos + 20]
    except UnicodeDecodeError as decoding:
        got = excerpt(data[decoding.start : decoding.start + 8])
        return f"invalid UTF-8 (got {got}); expected UTF-8: convert the file with  iconv -t UTF-8"
    return (
        f"broken JSON at column {error.colno}: {error.msg.split(':')[0]} (got {excerpt(near)} "
        "there); expected one array of objects, or an object per line: correct the file"
    )
