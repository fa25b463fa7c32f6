"""A disk that kills the process, or refuses, at a chosen call: see `multitudes.files.disk`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from multitudes.files.disk import Disk

T = TypeVar("T")

GROWS = ("open", "write", "mkdir")  # calls that a full disk refuses


class CountingDisk(Disk):
    """Lists the calls, so that each can be a point."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def point(self, name: str, call: Callable[[], T]) -> T:
        """Make one call."""
        self.calls.append(name)
        return call()

    def open(self, path: Path, mode: str) -> int:
        return self.point("open", lambda: Disk.open(self, path, mode))

    def write(self, handle: int, data: Any) -> int:
        return self.point("write", lambda: Disk.write(self, handle, data))

    def sync(self, handle: int) -> None:
        return self.point("sync", lambda: Disk.sync(self, handle))

    def rename(self, source: Path, target: Path) -> None:
        return self.point("rename", lambda: Disk.rename(self, source, target))

    def link(self, source: Path, target: Path) -> None:
        return self.point("link", lambda: Disk.link(self, source, target))

    def unlink(self, path: Path) -> None:
        return self.point("unlink", lambda: Disk.unlink(self, path))

    def mkdir(self, path: Path) -> None:
        return self.point("mkdir", lambda: Disk.mkdir(self, path))

    def rmdir(self, path: Path) -> None:
        return self.point("rmdir", lambda: Disk.rmdir(self, path))


class SignallingDisk(CountingDisk):
    """Sends this process a signal before call `number`, counted from 0; SIGKILL is the last."""

    def __init__(self, number: int, signal_number: int = signal.SIGKILL) -> None:
        super().__init__()
        self.number, self.signal_number = number, signal_number

    def point(self, name: str, call: Callable[[], T]) -> T:
        """Send the signal, or make the call."""
        if len(self.calls) == self.number:
            os.kill(os.getpid(), self.signal_number)
        return super().point(name, call)


class Dead(BaseException):
    """The process is gone, as far as its disk is concerned."""


class DyingDisk(CountingDisk):
    """From call `number` on nothing happens any more: a kill for code that cannot be forked."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def point(self, name: str, call: Callable[[], T]) -> T:
        """Die, or make the call."""
        if len(self.calls) >= self.number:
            raise Dead
        return super().point(name, call)


class RefusingDisk(CountingDisk):
    """Refuses from call `number` on: calls that need space, all that change, or one alone.

    Parameters
    ----------
    number
        The first call that is refused.
    error
        ENOSPC and EDQUOT refuse what needs space, EROFS everything, EIO this one call.
    """

    def __init__(self, number: int, error: int) -> None:
        super().__init__()
        self.number, self.error = number, error

    def point(self, name: str, call: Callable[[], T]) -> T:
        """Refuse, or make the call."""
        import errno

        at = len(self.calls)
        needs_space = name in GROWS
        if self.error == errno.EIO:
            refused = at == self.number
        else:
            refused = at >= self.number and (needs_space or self.error == errno.EROFS)
        if refused:
            self.calls.append(name)
            raise OSError(self.error, os.strerror(self.error))
        return super().point(name, call)
