"""Who is still saving: a lock that the operating system drops when its process dies.

A save that was killed leaves temporaries behind. The next save may remove them, but must never
remove those of a save that is still under way in another process.

The package filelock would save only the 25 lines that call the operating system: looking at a lock
with it creates the file, which fails in a read-only folder and leaves litter in others, and its
lock files have a name before they are held, so that a living save could be taken for a dead one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO


class Lease:
    """A lock file next to the temporaries of one save, held until `release` or death."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if sys.platform == "win32":  # where an open file can be neither renamed nor removed
            self._file: BinaryIO = path.open("ab")
            _lock(self._file)
            return
        # Locked first and named afterwards, so that nobody finds it free and takes us for dead.
        unnamed = path.with_name(path.name + ".new")
        while True:
            self._file = unnamed.open("ab")
            _lock(self._file)
            try:
                unnamed.rename(path)
                return
            except FileNotFoundError:  # removed as a leftover before it was locked
                self._file.close()

    def release(self) -> None:
        """Give the lease up and remove its file."""
        if sys.platform != "win32":  # unlinked while still held, so that nobody sees it free
            self.path.unlink(missing_ok=True)
        self._file.close()
        self.path.unlink(missing_ok=True)


def is_held(path: Path) -> bool:
    """Return whether a living process holds the lease; False if the file does not exist."""
    try:
        with path.open("r+b") as file:
            return not _try_lock(file)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # cannot tell: leave its files alone


if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)

    def _try_lock(file: BinaryIO) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(file: BinaryIO) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)  # waits only while somebody looks

    def _try_lock(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
