"""Who is writing: a lock file that the operating system frees when its process dies.

A lease belongs to one output: a file, a model folder, a checkpoint. While it is held nobody else
writes there, and the temporaries beside it are alive; when it can be had, they are of the dead. Its
file holds the process id of who has it, so that whoever is refused can be told.

The package filelock would save only the lines that call the operating system: looking at a lock
with it creates the file, which fails in a read-only folder and leaves litter in others, and it
does not say who holds one.
"""

from __future__ import annotations

import errno
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from multitudes.files import disk
from multitudes.stopping import exposed, shielded

SUFFIX = ".multitudes-lock"
AT_ONCE = 0.25  # seconds: somebody who only looks at a lease has it for a moment
_PAUSE = 0.004  # on average: not in step with somebody who takes it again and again
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
_LONG_NAME = 200  # bytes; file systems end at 255

_own: dict[tuple[Path, int], Lease] = {}  # by the file and the thread


class HeldError(Exception):
    """Somebody else has the lease.

    Parameters
    ----------
    pid : int or None
        The process, as far as it is known; the process that asks if another of its threads has it.
    """

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self.pid = pid

    def __str__(self) -> str:
        if self.pid == os.getpid():
            return f"this process ({self.pid}) itself"
        return "another process" if self.pid is None else f"process {self.pid}"


class Lease:
    """The right to write to one output; see `take`."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path, self._handle = path, handle
        self._key = (path, threading.get_ident())
        self.pid, self.times = os.getpid(), 1

    def release(self) -> None:
        """Give it up; its file goes when it was taken as often as it is given up."""
        if self.pid != os.getpid():
            return  # a child of the one who has it
        self.times -= 1
        if self.times:
            return
        _own.pop(self._key, None)
        try:
            if sys.platform != "win32":  # while it is held, so that nobody sees it free
                _unlink(self.path)
        finally:
            self.close()
        if sys.platform == "win32":  # where an open file cannot be removed
            _unlink(self.path)

    def close(self) -> None:
        """Close the handle, which frees the lock."""
        os.close(self._handle)


def take(path: Path, *, wait: float = AT_ONCE) -> Lease:
    """Take the lease whose file is at `path`; a thread may take one again that it has.

    Raises
    ------
    HeldError
        If somebody else still has it after `wait` seconds.
    OSError
        If there can be no such file.
    """
    key = (path, threading.get_ident())
    if key in _own:
        _own[key].times += 1
        return _own[key]
    end = time.monotonic() + wait
    while True:
        handle = disk.current().open(path, "a")
        try:
            if _locked(handle) and _is_at(handle, path):
                lease = _own[key] = Lease(path, handle)
                _sign(handle)
                return lease
            pid = _signed(handle)
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() >= end:
            raise HeldError(pid)
        time.sleep(random.uniform(0, 2 * _PAUSE))


@contextmanager
def held(path: Path, *, wait: float = AT_ONCE) -> Iterator[None]:
    """Hold a lease while the body runs; see `take`."""
    with shielded():
        lease = take(path, wait=wait)
        try:
            with exposed():
                yield
        finally:
            lease.release()


def beside(target: Path) -> Path:
    """Return where the lease of an output lies: beside it."""
    return target.with_name(hidden(target.name) + SUFFIX)


def hidden(name: str) -> str:
    """Return the beginning of the names of what lies beside an output."""
    if len(os.fsencode(name)) <= _LONG_NAME:
        return f".{name}"
    import hashlib

    return f".{name[:20]}~{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"


def _unlink(path: Path) -> None:
    with suppress(OSError):
        disk.current().unlink(path)


def _is_at(handle: int, path: Path) -> bool:
    """Return whether the file is still there: whoever had the lease before has removed it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


def _sign(handle: int) -> None:
    """Write who has the lease; on a full disk it is good without."""
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        disk.current().write(handle, f"{os.getpid()}\n".encode())


def _signed(handle: int) -> int | None:
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        return int(os.read(handle, 32))
    except (OSError, ValueError):
        return None


def _forget() -> None:
    """Close what a child has inherited: its copies would keep the leases of a dead parent."""
    for lease in _own.values():
        with suppress(OSError):
            lease.close()
    _own.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30  # a locked byte cannot be read: beyond the process id

    def _locked(handle: int) -> bool:
        try:
            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _locked(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return not _is_alive(_signed(handle))  # a file system without locks
        return True

    def _is_alive(pid: int | None) -> bool:
        if pid is None or pid == os.getpid():
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True
