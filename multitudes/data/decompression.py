"""The decompressed bytes of gz, xz, bz2 and zst archives, in pieces of bounded size.

An archive of a few bytes may unpack to any number. Pieces come no larger than they are asked for,
windows and dictionaries have a limit, and an archive that unpacks to far more than data does is
refused before it costs time.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from multitudes.errors import DataError

MAGIC = {
    "gz": b"\x1f\x8b",
    "xz": b"\xfd7zXZ\x00",
    "bz2": b"BZh",
    "zst": b"\x28\xb5\x2f\xfd",
}
_CHUNK_BYTES = 1 << 16
# What this few bytes of zstandard can become is 16 MB, and it hands all of that out at once.
_ZSTD_PIECE_BYTES = 1 << 9
_MAX_WINDOW_BYTES = 1 << 27  # what zstd -19 --long=27 asks for
_MAX_DICTIONARY_BYTES = 1 << 28  # xz -9e asks for a quarter of it
# Text packs 3 to 20 times, logs 100 times. What packs better is hardly data, and no great loss
# while it is small.
MOST_INFLATED = 200
FREE_BYTES = 1 << 25


class _Frame(Protocol):
    """One archive of those that may follow each other in a file."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class Archive(io.RawIOBase):
    """The decompressed bytes of an archive; foreign errors become DataErrors."""

    def __init__(self, source: io.BufferedReader, kind: str, path: Path) -> None:
        self.source, self.kind, self.path = source, kind, path
        self._make: Callable[[], _Frame] = _FRAMES[kind]
        self._frame: _Frame | None = None
        self._waiting = b""
        self._n_frames = self._n_bytes = 0
        self.position = 0  # in the file, which may be a pipe

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer with the next bytes, or a part of it; 0 at the end."""
        try:
            data = self._read(len(buffer))
        except EOFError as error:
            raise DataError(
                f"{self.path}: the {self.kind} archive is truncated (ended after "
                f"{self.position:,} bytes); expected its end mark: copy or download it again"
            ) from error
        except (OSError, zlib.error, lzma.LZMAError, ValueError) as error:
            raise DataError(self._problem(str(error))) from error
        self._n_bytes += len(data)
        self._check_inflation()
        buffer[: len(data)] = data
        return len(data)

    def _problem(self, reason: str) -> str:
        place = f"{self.path}: the {self.kind} archive"
        if "emory" in reason:  # of lzma and zstandard, about what a header asks for
            most = _MAX_DICTIONARY_BYTES if self.kind == "xz" else _MAX_WINDOW_BYTES
            return (
                f"{place} needs more than the {most >> 20} MB that unpacking may take ({reason}): "
                "pack it with a smaller window"
            )
        return (
            f"{place} is damaged near byte {self.position:,} ({reason}): copy or download it again"
        )

    def _check_inflation(self) -> None:
        most = max(FREE_BYTES, MOST_INFLATED * self.position)
        if self._n_bytes > most:
            raise DataError(
                f"{self.path}: the {self.kind} archive unpacks to more than {MOST_INFLATED} times "
                f"its size (got {self._n_bytes:,} bytes from {self.position:,}), as data does "
                "not: unpack the file first, if it is right"
            )

    def _read(self, size: int) -> bytes:
        while True:
            if self._frame is None:
                self._waiting = self._next_frame()
                if not self._waiting:
                    return b""
                self._frame = self._make()
                self._n_frames += 1
            given, hungry = b"", self._frame.needs_input
            if hungry:
                given, self._waiting = self._waiting or self._more(), b""
            data = self._frame.decompress(given, size)
            if self._frame.eof:
                self._waiting, self._frame = self._frame.unused_data, None
            elif hungry and not given and not data:
                raise EOFError
            if data:
                return data

    def _more(self) -> bytes:
        data = self.source.read(_CHUNK_BYTES)
        self.position += len(data)
        return data

    def _next_frame(self) -> bytes:
        """Return where the next frame begins, after zeros that fill a block of a tape or disk."""
        data = self._waiting or self._more()
        while self._n_frames and data and not (rest := data.lstrip(b"\0")):
            data = self._more()
        return rest if self._n_frames and data else data

    def close(self) -> None:
        """Close the file, too."""
        if not self.closed:
            self.source.close()
        super().close()


class _GzipFrame:
    """A member of a gz file, in the ways of `lzma` and `bz2`."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)
        self._tail = b""

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._tail

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        out = self._inner.decompress(self._tail or data, max_length)
        self._tail = self._inner.unconsumed_tail
        return out


class _ZstdFrame:
    """A frame of zstandard, in the ways of `lzma` and `bz2`.

    The package's own stream reader takes a truncated file for a short one; this does not.
    """

    def __init__(self) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        inner = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
        self._inner = inner.decompressobj()
        self._given = memoryview(b"")
        self._ready = memoryview(b"")

    @property
    def eof(self) -> bool:
        return self._inner.eof and not self._ready

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data + bytes(self._given)

    @property
    def needs_input(self) -> bool:
        return not self._ready and not self._given

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        if data:
            self._given = memoryview(data)
        if not self._ready and self._given:
            piece, self._given = (
                self._given[:_ZSTD_PIECE_BYTES],
                self._given[_ZSTD_PIECE_BYTES:],
            )
            try:
                self._ready = memoryview(self._inner.decompress(piece))
            except self._error as error:
                raise ValueError(str(error)) from error
        out, self._ready = self._ready[:max_length], self._ready[max_length:]
        return bytes(out)


_FRAMES: dict[str, Callable[[], _Frame]] = {
    "gz": _GzipFrame,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_DICTIONARY_BYTES),
    "bz2": bz2.BZ2Decompressor,
    "zst": _ZstdFrame,
}
