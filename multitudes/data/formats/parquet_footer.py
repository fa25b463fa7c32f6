"""The footer of a Parquet file: what its column chunks declare.

pyarrow reads the same footer, but a damaged histogram in it ends the process as soon as a chunk is
looked at, long before any data is read. Here only lengths, types and names are looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

_TAIL = struct.Struct("<I4s")
_BYTE_ARRAY = 6
_DEEPEST = 32  # a footer has eight levels

# The names that the format's definition has for the fields.
_ROW_GROUPS = 4
_COLUMNS = 1
_META_DATA = 3
_TYPE, _PATH, _UNPACKED, _PACKED, _DICTIONARY_AT = 1, 3, 6, 7, 11


class Chunk(NamedTuple):
    """One column of one row group."""

    path: str
    unpacked: int
    packed: int
    holds_bytes: bool
    has_dictionary: bool


def read_chunks(stream: BinaryIO) -> list[list[Chunk]]:
    """Return the column chunks of each row group; a ValueError says that the footer is damaged."""
    stream.seek(-_TAIL.size, 2)
    length, _ = _TAIL.unpack(stream.read(_TAIL.size))
    stream.seek(-_TAIL.size - length, 2)
    try:
        footer = _Fields(stream.read(length)).struct()
        return [
            [_chunk(column[_META_DATA]) for column in group[_COLUMNS]]
            for group in footer[_ROW_GROUPS]
        ]
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError("the footer is incomplete") from error


def _chunk(fields: dict[int, Any]) -> Chunk:
    return Chunk(
        path=".".join(name.decode() for name in fields[_PATH]),
        unpacked=max(0, fields[_UNPACKED]),
        packed=max(0, fields[_PACKED]),
        holds_bytes=fields[_TYPE] == _BYTE_ARRAY,
        has_dictionary=_DICTIONARY_AT in fields,
    )


class _Fields:
    """Thrift's compact protocol, as values by the number of their field."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        return dict(self._numbered(depth))

    def _numbered(self, depth: int) -> Iterator[tuple[int, Any]]:
        if depth > _DEEPEST:
            raise ValueError("the footer is nested too deeply")
        number = 0
        while head := self._byte():
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self._signed()
            # A field that is a truth value has it in its kind.
            yield number, kind == 1 if kind in (1, 2) else self._value(kind, depth)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind in (9, 10):
            return self._list(depth + 1)
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError(f"the footer has a value of unknown kind {kind}")

    def _list(self, depth: int) -> list[Any]:
        if depth > _DEEPEST:
            raise ValueError("the footer is nested too deeply")
        head = self._byte()
        n = head >> 4 if head >> 4 < 15 else self._unsigned()
        return [self._value(head & 15, depth) for _ in range(n)]

    def _byte(self) -> int:
        byte = self.data[self.at]
        self.at += 1
        return byte

    def _bytes(self, n: int) -> bytes:
        if n > len(self.data) - self.at:
            raise ValueError("the footer ends within a value")
        self.at += n
        return self.data[self.at - n : self.at]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("the footer has a number of too many digits")

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
