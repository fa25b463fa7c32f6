"""Open compressed and other files alike, and write files completely or not at all.

Reading goes by a file's first bytes, writing by its suffix: ``.gz``, ``.xz``, ``.bz2``, ``.zst``.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from multitudes.errors import DataError

SUFFIXES = (".gz", ".xz", ".bz2", ".zst")

_MAGIC = {
    "gz": b"\x1f\x8b",
    "xz": b"\xfd7zXZ\x00",
    "bz2": b"BZh",
    "zst": b"\x28\xb5\x2f\xfd",
}
_BUFFER_BYTES = 1 << 18
# zstandard hands out everything an input chunk holds at once. A chunk this small keeps that to
# tens of MB even for input that is nothing but repetition.
_ZSTD_CHUNK_BYTES = 1 << 11


def open_bytes(path: str | Path) -> BinaryIO:
    """Open a file for streaming its decompressed bytes.

    The compression is judged by the first bytes, not by the suffix. A damaged or truncated
    archive raises a DataError that names the file, at the read that meets the damage.
    """
    path = Path(path)
    raw = _open_raw(path)
    kind = _compression_of(raw)
    if kind is None:
        return raw
    return io.BufferedReader(_Archive(raw, kind, path), _BUFFER_BYTES)


def peek(path: str | Path, n_bytes: int) -> bytes:
    """Return the first decompressed bytes of a file, to find out what it is."""
    with open_bytes(path) as stream:
        return stream.read(n_bytes)


def position(stream: BinaryIO) -> int:
    """Return how many bytes of the file on disk a stream of `open_bytes` has used so far."""
    raw = getattr(stream, "raw", None)
    return raw.source.tell() if isinstance(raw, _Archive) else stream.tell()


def uncompressed_suffix(path: str | Path) -> str:
    """Return the suffix of the format, in lower case: ``.jsonl`` for ``trn.jsonl.xz``."""
    suffixes = Path(path).suffixes
    if suffixes and suffixes[-1].lower() in SUFFIXES:
        suffixes.pop()
    return suffixes[-1].lower() if suffixes else ""


def uncompressed_stem(path: str | Path) -> str:
    """Return the name without format and compression suffixes: ``trn`` for ``trn.jsonl.xz``."""
    name = Path(path).name
    stem = Path(name).stem if Path(name).suffix.lower() in SUFFIXES else name
    return Path(stem).stem


@contextmanager
def open_write(path: str | Path) -> Iterator[BinaryIO]:
    """Write a file, compressed by its suffix; it appears under its name when it is complete.

    Until then the bytes go to a temporary sibling, which is removed if anything fails: an
    interrupted writer leaves either the old file or none.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"cannot write {path}: it is a folder; give the name of a file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        raw = io.BufferedWriter(io.FileIO(temporary, "w"), _BUFFER_BYTES)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        with raw, _compressor(raw, path.suffix.lower()) as stream:
            yield stream
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def encoding_checked(path: str | Path) -> Iterator[None]:
    """Turn the complaint about a text that UTF-8 cannot hold into a DataError."""
    try:
        yield
    except (UnicodeEncodeError, TypeError) as error:
        if "surrogates" not in str(error):
            raise
        raise DataError(
            f"cannot write {path}: a text, label or uid holds half a character, a lone surrogate "
            f"({error}); expected valid Unicode: decode your data with errors='replace'"
        ) from error


def _open_raw(path: Path) -> io.BufferedReader:
    try:
        return io.BufferedReader(io.FileIO(path), _BUFFER_BYTES)
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist: check the path") from error
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder; expected a file") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error


def _compression_of(raw: io.BufferedReader) -> str | None:
    head = raw.peek(8)[:8]
    return next((kind for kind, magic in _MAGIC.items() if head.startswith(magic)), None)


class _Reading(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Archive(io.RawIOBase):
    """The decompressed bytes of an archive; foreign errors become DataErrors."""

    def __init__(self, source: io.BufferedReader, kind: str, path: Path) -> None:
        self.source, self.kind, self.path = source, kind, path
        self._stream = _decompressor(source, kind)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except EOFError as error:
            raise DataError(
                f"{self.path}: the {self.kind} archive is truncated (ended after "
                f"{self.source.tell():,} bytes); expected its end mark: copy or download it again"
            ) from error
        except (OSError, zlib.error, lzma.LZMAError, ValueError) as error:
            raise DataError(
                f"{self.path}: the {self.kind} archive is damaged near byte "
                f"{self.source.tell():,} ({error}): copy or download it again"
            ) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self.source.close()
        super().close()


def _decompressor(source: io.BufferedReader, kind: str) -> _Reading:
    if kind == "gz":
        return gzip.GzipFile(fileobj=source, mode="rb")
    if kind == "xz":
        return lzma.LZMAFile(source, "rb")
    if kind == "bz2":
        return bz2.BZ2File(source, "rb")
    return _ZstdReader(source)


class _ZstdReader:
    """Frames of zstandard, one after the other.

    The package's own stream reader takes a truncated file for a short one; this does not.
    """

    def __init__(self, source: io.BufferedReader) -> None:
        import zstandard

        self._zstandard = zstandard
        self._source = source
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._ready = b""
        self._waiting = b""

    def read(self, size: int, /) -> bytes:
        while not self._ready:
            chunk = self._waiting or self._source.read(_ZSTD_CHUNK_BYTES)
            self._waiting = b""
            if not chunk:
                if self._frame is not None:
                    raise EOFError
                return b""
            self._ready = self._decompress(chunk)
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _decompress(self, chunk: bytes) -> bytes:
        if self._frame is None:
            self._frame = self._zstandard.ZstdDecompressor().decompressobj()
        try:
            data = self._frame.decompress(chunk)
        except self._zstandard.ZstdError as error:
            raise ValueError(str(error)) from error
        if self._frame.eof:
            self._waiting, self._frame = self._frame.unused_data, None
        return data


@contextmanager
def _compressor(raw: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if suffix == ".gz":
        # No name and no date inside, so that equal data gives equal files.
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
            yield cast(BinaryIO, stream)
    elif suffix == ".xz":
        with lzma.LZMAFile(raw, "wb") as stream_xz:
            yield cast(BinaryIO, stream_xz)
    elif suffix == ".bz2":
        with bz2.BZ2File(raw, "wb") as stream_bz2:
            yield cast(BinaryIO, stream_bz2)
    elif suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as stream_zst:
            yield cast(BinaryIO, stream_zst)
    else:
        yield raw
