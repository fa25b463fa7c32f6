"""The file that corrections are appended to: on the disk before the client is told so.

Each is one line, written under a lock that all processes respect, so that there is one writer at a
time. A process that is killed while it writes leaves half a line: whoever writes next finds it,
sets it aside in ``FILE.torn``, and goes on behind the last whole one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from multitudes.data.predictions.corrections import Correction
from multitudes.errors import ConfigError
from multitudes.files import disk, lease
from multitudes.server.refusals import BusyError, FullError

PATIENCE = 5.0  # seconds in which others, who also write one line at a time, must be done
PIECE = 1 << 16
LONGEST = 1 << 28  # bytes of a line that is read again; none of ours has so many


class Page(NamedTuple):
    """Some corrections, in the order in which they came.

    Attributes
    ----------
    corrections : list of dict
        Their fields, and an ``id`` each.
    after : int or None
        The id of the last, to ask for those behind it; None if there are none.
    total : int
        How many there are in all.
    """

    corrections: list[dict[str, Any]]
    after: int | None
    total: int


class Corrections:
    """Appends corrections to a file of JSON lines, and reads them again.

    Parameters
    ----------
    path : str or Path
        Made if it is not there; another process may append to it, too.
    max_bytes : int, optional
        The size at which no more are taken.
    """

    def __init__(self, path: str | Path, *, max_bytes: int | None = None) -> None:
        self.path = Path(path)
        self.max_bytes = max_bytes
        self._lock = threading.Lock()  # the lease is for processes, and polls
        self._counted, self._n = 0, 0
        try:
            with self._opened() as (handle, _):
                os.fsync(handle)
            disk.sync_folder(self.path.parent)
        except (OSError, BusyError) as error:
            raise ConfigError(f"corrections cannot be kept in {self.path}: {error}") from None

    def append(self, correction: Correction) -> int:
        """Write a correction to the disk and return its id; when this returns it is there."""
        line = correction.line()
        with self._opened() as (handle, size):
            if self.max_bytes is not None and size + len(line) > self.max_bytes:
                raise FullError(
                    f"the file of corrections has {size:,} bytes, at most {self.max_bytes:,} are "
                    "kept: move it away, or start the server with a larger --max-corrections"
                )
            try:
                _write(handle, line)
                os.fsync(handle)
            except OSError as error:
                os.ftruncate(handle, size)
                raise FullError(f"the correction was not kept: {error.strerror}") from error
        return size

    def page(self, *, after: int | None = None, limit: int = 100, newest: bool = False) -> Page:
        """Return some corrections: the first, those behind the one of an id, or the last."""
        with self.path.open("rb") as file:
            end = _whole(file)
            if newest:
                start = _back(file, end, limit)
            else:
                start = 0 if after is None else after
            found = list(_lines(file, start, end, limit + (after is not None and not newest)))
        if after is not None and not newest:
            found = found[1:]
        last = found[-1] if found else None
        is_end = last is None or last[0] + len(last[1]) >= end
        read = [{"id": at, **orjson.loads(line)} for at, line in found]
        return Page(read, None if is_end or last is None else last[0], self._total(end))

    def export(self) -> Iterator[bytes]:
        """Yield the bytes of all whole lines there are now."""
        with self.path.open("rb") as file:
            left = _whole(file)
            file.seek(0)
            while left:
                piece = file.read(min(PIECE, left))
                if not piece:
                    return  # it was cut meanwhile
                left -= len(piece)
                yield piece

    @contextmanager
    def _opened(self) -> Iterator[tuple[int, int]]:
        """Open the file for one writer, behind its last whole line; yield its handle and size."""
        try:
            with self._lock, lease.held(lease.beside(self.path), wait=PATIENCE):
                flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
                handle = os.open(self.path, flags, 0o666)
                try:
                    yield handle, self._mended(handle)
                finally:
                    os.close(handle)
        except lease.HeldError as error:
            raise BusyError(
                f"{error} has been writing corrections for {PATIENCE:g} seconds: try again"
            ) from None

    def _mended(self, handle: int) -> int:
        """Set half a line aside that somebody left who was killed; return the size then."""
        size = os.fstat(handle).st_size
        with os.fdopen(os.dup(handle), "rb") as file:
            whole = _whole(file)
            if whole == size:
                return size
            file.seek(whole)
            torn = file.read()
        aside = self.path.with_name(self.path.name + ".torn")
        with aside.open("ab") as file:
            file.write(torn + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.ftruncate(handle, whole)
        os.fsync(handle)
        return whole

    def _total(self, end: int) -> int:
        """Count lines; only those that came since it was last asked."""
        with self._lock, self.path.open("rb") as file:
            if end < self._counted:  # another file by now
                self._counted, self._n = 0, 0
            file.seek(self._counted)
            while self._counted < end:
                piece = file.read(min(PIECE, end - self._counted))
                if not piece:
                    break
                self._n += piece.count(b"\n")
                self._counted += len(piece)
            return self._n


def _write(handle: int, line: bytes) -> None:
    left = memoryview(line)
    while left:
        left = left[os.write(handle, left) :]


def _whole(file: Any) -> int:
    """Return where the last whole line of a file ends."""
    at: int = file.seek(0, os.SEEK_END)
    while at:
        start = max(0, at - PIECE)
        file.seek(start)
        found = file.read(at - start).rfind(b"\n")
        if found >= 0:
            return start + int(found) + 1
        at = start
    return 0


def _back(file: Any, end: int, n: int) -> int:
    """Return where the last `n` lines begin."""
    at, left = end, n + 1
    while at:
        start = max(0, at - PIECE)
        file.seek(start)
        piece = file.read(at - start)
        while left and (found := piece.rfind(b"\n")) >= 0:
            left -= 1
            if not left:
                return start + int(found) + 1
            piece = piece[:found]
        at = start
    return 0


def _lines(file: Any, start: int, end: int, n: int) -> Iterator[tuple[int, bytes]]:
    """Yield (where it begins, line) of whole lines; nothing if none begins at `start`."""
    if start:
        file.seek(start - 1)
        if start > end or file.read(1) != b"\n":
            raise ConfigError(f"there is no correction with the id {start}: ask without `after`")
    file.seek(start)
    while n and start < end:
        line = file.readline(LONGEST)
        yield start, line
        start += len(line)
        n -= 1
