"""Open compressed and other files alike, and write files completely or not at all.

Reading goes by a file's first bytes, writing by its suffix: ``.gz``, ``.xz``, ``.bz2``, ``.zst``.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from multitudes import memory
from multitudes.data.decompression import MAGIC, Archive
from multitudes.errors import DataError, MultitudesError, ResourceError
from multitudes.files.lease import HeldError, beside, held
from multitudes.files.writing import is_device, replaced_file

SUFFIXES = (".gz", ".xz", ".bz2", ".zst")

_BUFFER_BYTES = 1 << 18
_WHOLE_BYTES = 1 << 24


def open_bytes(path: str | Path) -> BinaryIO:
    """Open a file for streaming its decompressed bytes.

    The compression is judged by the first bytes, not by the suffix. A damaged or truncated
    archive raises a DataError that names the file, at the read that meets the damage.
    """
    path = Path(path)
    raw = open_raw(path)
    kind = _compression_of(raw)
    if kind is None:
        return raw
    return io.BufferedReader(Archive(raw, kind, path), _BUFFER_BYTES)


def peek(path: str | Path, n_bytes: int) -> bytes:
    """Return the first decompressed bytes of a file, to find out what it is."""
    with open_bytes(path) as stream:
        return stream.read(n_bytes)


def position(stream: BinaryIO) -> int:
    """Return how many bytes of the file on disk a stream of `open_bytes` has used so far."""
    raw = getattr(stream, "raw", None)
    if isinstance(raw, Archive):
        return raw.position
    return stream.tell() if stream.seekable() else 0


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
    interrupted writer leaves either the old file or none. What a killed one leaves is removed
    by the next. A second writer is refused while the first one writes.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"cannot write {path}: it is a folder; give the name of a file")
    with (
        writable(path),
        replaced_file(path) as raw,
        _compressor(raw, path.suffix.lower()) as stream,
    ):
        yield stream


@contextmanager
def claimed(path: str | Path) -> Iterator[None]:
    """Hold a file, or a folder of data, as the only one who writes to it; else a DataError.

    For work that takes long before it writes. A path that cannot be written is refused later.
    """
    target = Path(os.path.realpath(path))
    if is_device(Path(path)) or not target.parent.is_dir():
        yield
        return
    with ExitStack() as stack:
        with writable(Path(path)):
            stack.enter_context(held(beside(target)))
        yield


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn the refusal of a place to write to into a DataError: by the disk, or by its writer."""
    try:
        yield
    except BrokenPipeError:
        raise  # a reader that has seen enough, not an error of the data
    except HeldError as error:
        raise DataError(
            f"cannot write {path}: {error} is writing it: wait until that is over, or choose "
            "another name"
        ) from error
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error


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


def open_raw(path: Path) -> io.BufferedReader:
    """Open a file, or a pipe, for the bytes that it holds; not a device, which may never end."""
    try:
        if may_never_end(path):
            raise DataError(f"{path} is a device; expected a file")
        return io.BufferedReader(_File(path), _BUFFER_BYTES)
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist: check the path") from error
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder; expected a file") from error
    except MultitudesError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError | ValueError) -> DataError:
    return DataError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}")


class _File(io.FileIO):
    """A file whose disk may fail while it is read."""

    def readinto(self, buffer: Any) -> int:
        try:
            return super().readinto(buffer) or 0
        except OSError as error:
            raise _unreadable(Path(str(self.name)), error) from error


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the refusal of a path into a DataError, and a lack of memory into a ResourceError."""
    try:
        yield
    except MultitudesError:
        raise
    except OSError as error:
        raise _unreadable(Path(path), error) from error
    except MemoryError as error:
        raise ResourceError(
            f"memory ran out while {path} was read ({memory.shown(memory.limit())} may be taken): "
            "free memory, or read a part of the file"
        ) from error


def read_whole(stream: BinaryIO, path: Path, *, factor: int = 1) -> bytes:
    """Return all that is left of a stream, asking for memory piece by piece.

    Parameters
    ----------
    stream : binary stream
    path : Path
        What messages call it.
    factor : int
        Bytes of memory that a byte becomes when it is parsed.
    """
    pieces: list[bytes] = []
    n_bytes = 0
    while piece := stream.read(_WHOLE_BYTES):
        pieces.append(piece)
        n_bytes += len(piece)
        memory.ask((1 + factor) * n_bytes, f"{path}: the first {n_bytes:,} bytes, read at once,")
    return b"".join(pieces)


def may_never_end(place: Path | int) -> bool:
    """Return whether a path or an open file may never end, such as /dev/zero.

    Pipes and terminals are opened on purpose.
    """
    mode = os.stat(place).st_mode  # noqa: PTH116  it may be a number
    if not stat.S_ISCHR(mode):
        return stat.S_ISBLK(mode)
    if isinstance(place, int):
        return not os.isatty(place)
    descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_NOCTTY", 0))
    try:
        return not os.isatty(descriptor)
    finally:
        os.close(descriptor)


def _compression_of(raw: io.BufferedReader) -> str | None:
    head = raw.peek(8)[:8]
    return next((kind for kind, magic in MAGIC.items() if head.startswith(magic)), None)


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
