"""The part of CBOR (RFC 8949) that a forest of omikuji is written in, read with care.

Maps with names as keys, arrays of known length, whole numbers and floats; anything else, and
anything past the end of the file, is an error that says where.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from multitudes.errors import StoreError
from multitudes.interchange.files import COPY_AGAIN, read_bytes
from multitudes.kernels.cbor import read_floats, read_whole_numbers
from multitudes.types import FloatArray, IntArray

TEXT, ARRAY, MAP = 3, 4, 5
LONGEST_NAME = 100


class CborReader:
    """Reads a file from its start, item by item.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data = np.frombuffer(read_bytes(path), np.uint8)
        self._at = 0

    def fields(self) -> Iterator[str]:
        """Yield the keys of a map; read each value before going on to the next key."""
        for _ in range(self._length(MAP, "a map")):
            yield self._name()

    def variant(self) -> str:
        """Return the only key of a map; its value is next."""
        if self._length(MAP, "a map") != 1:
            raise self.error("expected a map of one key")
        return self._name()

    def items(self) -> Iterator[int]:
        """Yield the number of each item of an array; read it before going on to the next."""
        yield from range(self._length(ARRAY, "an array"))

    def whole_number(self) -> int:
        """Return a whole number >= 0."""
        out = np.empty(1, np.int64)
        self._advance(read_whole_numbers(self._data, self._at, out), "a whole number")
        return int(out[0])

    def whole_numbers(self) -> IntArray:
        """Return an array of whole numbers >= 0."""
        out = np.empty(self._length(ARRAY, "an array"), np.int64)
        self._advance(read_whole_numbers(self._data, self._at, out), "whole numbers")
        return out

    def floats(self) -> FloatArray:
        """Return an array of floats."""
        out = np.empty(self._length(ARRAY, "an array"), np.uint32)
        self._advance(read_floats(self._data, self._at, out), "floats")
        return out.view(np.float32)

    def end(self) -> None:
        """Check that nothing is left."""
        if self._at != len(self._data):
            raise self.error("expected the end of the file")

    def error(self, problem: str) -> StoreError:
        """Return an error that names the file and the place."""
        return StoreError(f"{self.path}, byte {self._at:,}: {problem}: {COPY_AGAIN}")

    def _name(self) -> str:
        length = self._length(TEXT, "a name")
        if length > LONGEST_NAME:
            raise self.error(f"expected a name, got {length:,} bytes")
        name = self._data[self._at : self._at + length].tobytes()
        self._at += length
        try:
            return name.decode()
        except UnicodeDecodeError:
            raise self.error(f"expected a name, got {name!r}") from None

    def _length(self, kind: int, expected: str) -> int:
        """Read the head of an item of a kind; each of what it counts takes a byte or more."""
        left = len(self._data) - self._at
        if not left or self._data[self._at] >> 5 != kind:
            raise self.error(f"expected {expected}")
        # The head of a whole number is that of kind 0 with the same length.
        head = self._data[self._at : self._at + 9].copy()
        head[0] &= 0x1F
        out = np.empty(1, np.int64)
        size = read_whole_numbers(head, 0, out)
        if size < 0 or out[0] > left - size:
            raise self.error(f"expected {expected} that ends within the file")
        self._at += size
        return int(out[0])

    def _advance(self, to: int, expected: str) -> None:
        if to < 0:
            raise self.error(f"expected {expected}")
        self._at = to
