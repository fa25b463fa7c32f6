"""Who is still saving: a lock that the operating system drops when its process dies.

A save that was killed leaves temporaries behind. The next save may remove them, but must never
remove those of a save that is still under way in another process.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import BinaryIO


class Lease:
    """A lock file next to the temporaries of one save, held until `release` or death."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO = path.open("ab")
        if not _try_lock(self._file):
            raise OSError(f"{path} is held by another process")

    def release(self) -> None:
        """Give the lease up and remove its file."""
        if sys.platform != "win32":  # unlinked while still held, so that nobody sees it free
            self.path.unlink(missing_ok=True)
        self._file.close()
        self.path.unlink(missing_ok=True)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lease; False as well where there is none."""
    try:
        with path.open("r+b") as file:
            return not _try_lock(file)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # cannot tell: leave its files alone


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: BinaryIO) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        # Another process may have found the file before it was locked, and removed it.
        return os.fstat(file.fileno()).st_nlink > 0
