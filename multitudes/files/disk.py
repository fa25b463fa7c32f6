"""Every call that changes files, in one place, so that each can be made to fail or be the last.

All that the library writes goes through the functions of this module, and these through a `Disk`.
A test or a campaign puts another one in its place with `on`: then each call is a point at which the
process can be killed, or at which the disk is full.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

_BUFFER_BYTES = 1 << 18
_WINDOWS = os.name == "nt"
_REPLACE_ATTEMPTS = 50  # Windows refuses while a reader has the file open


class Disk:
    """The calls of the operating system that change files."""

    def open(self, path: Path, mode: str) -> int:
        """Return a handle of a file to be made ("w", emptied if it is there) or changed ("r+")."""
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
        if mode != "r+":
            flags |= os.O_CREAT | (os.O_TRUNC if mode == "w" else 0)
        return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)

    def write(self, handle: int, data: Any) -> int:
        """Write what fits of the data, and return how many bytes that were."""
        return os.write(handle, data)

    def sync(self, handle: int) -> None:
        """Force a file or folder onto the disk."""
        os.fsync(handle)

    def rename(self, source: Path, target: Path) -> None:
        """Give a file another name, in place of a file that had it; or a folder a new one."""
        source.replace(target)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name."""
        os.link(source, target)

    def unlink(self, path: Path) -> None:
        """Remove a file."""
        path.unlink()

    def mkdir(self, path: Path) -> None:
        """Make a folder."""
        path.mkdir()

    def rmdir(self, path: Path) -> None:
        """Remove an empty folder."""
        path.rmdir()


_current = Disk()


def current() -> Disk:
    """Return the disk that is written to."""
    return _current


@contextmanager
def on(disk: Disk) -> Iterator[None]:
    """Let all calls go to another disk, in all threads of this process."""
    global _current
    before, _current = _current, disk
    try:
        yield
    finally:
        _current = before


class _Raw(io.RawIOBase):
    """A file whose calls go to the disk."""

    def __init__(self, path: Path, mode: str) -> None:
        self._handle = _current.open(path, mode)
        self.name = str(path)

    def fileno(self) -> int:
        return self._handle

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return _current.write(self._handle, data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return os.lseek(self._handle, offset, whence)

    def tell(self) -> int:
        return os.lseek(self._handle, 0, os.SEEK_CUR)

    def truncate(self, size: int | None = None) -> int:
        size = self.tell() if size is None else size
        os.ftruncate(self._handle, size)
        return size

    def close(self) -> None:
        if not self.closed:
            super().close()
            os.close(self._handle)


def new_file(path: Path) -> BinaryIO:
    """Open a file to be written from its beginning."""
    return cast(BinaryIO, io.BufferedWriter(_Raw(path, "w"), _BUFFER_BYTES))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a small file."""
    with new_file(path) as file:
        file.write(content)


def sync_file(path: Path) -> None:
    """Force what a file holds onto the disk."""
    handle = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        _current.sync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder onto the disk."""
    if _WINDOWS:
        return  # which has no handle to sync for a folder
    handle = os.open(folder, os.O_RDONLY)
    try:
        _current.sync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Force every file and folder below `folder`, and itself, onto the disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            sync_file(Path(parent) / name)
        sync_folder(Path(parent))


def make_folder(path: Path) -> None:
    """Make a folder and those above it, as far as they are missing."""
    if path.is_dir():
        return
    if path.parent != path:
        make_folder(path.parent)
    try:
        _current.mkdir(path)
    except FileExistsError:
        if not path.is_dir():
            raise


def replace(source: Path, target: Path) -> None:
    """Put a file in the place of another one, or a folder where there is nothing, in one step."""
    for attempt in range(_REPLACE_ATTEMPTS):
        try:
            _current.rename(source, target)
            return
        except PermissionError:
            if not _WINDOWS or attempt == _REPLACE_ATTEMPTS - 1:
                raise
            time.sleep(0.02)


def link(source: Path, target: Path) -> bool:
    """Give a file a second name, instead of a copy; returns whether the system lets us.

    Files that this user may not write are left alone: they could not be forced onto the disk.
    """
    if not os.access(source, os.W_OK):
        return False
    try:
        _current.link(source, target)
    except OSError:  # another file system, or one that has no such names
        return False
    return True


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it; what cannot be removed stays.

    What links point to is never touched.
    """
    if path.is_dir() and not path.is_symlink():
        for parent, folders, names in os.walk(path, topdown=False):
            for name in names:
                _unlink(Path(parent) / name)
            for name in folders:
                _rmdir(Path(parent) / name)
        _rmdir(path)
    else:
        _unlink(path)


def _unlink(path: Path) -> None:
    with suppress(OSError):
        _current.unlink(path)


def _rmdir(path: Path) -> None:
    with suppress(OSError):
        if path.is_symlink():
            _current.unlink(path)
        else:
            _current.rmdir(path)
