"""A file system in memory, of any size, that only this process and its children see."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from campaigns.framework import Skipped

NEW_MOUNTS, NEW_USERS = 0x00020000, 0x10000000  # CLONE_NEWNS, CLONE_NEWUSER
REMOUNT, PRIVATE = 0x20, 0x4000 | 0x40000  # MS_REMOUNT, MS_REC | MS_PRIVATE
DETACH = 2  # MNT_DETACH
PAGE = 4096  # bytes: with none at all, a file system would have no limit
ROOMY = 64 << 20  # bytes: as good as no limit here


class SmallDisk:
    """A mounted file system.

    Parameters
    ----------
    place
        The folder it is mounted at.
    """

    def __init__(self, place: Path) -> None:
        self.place = place

    def leave(self, spare: int) -> None:
        """Leave room for about so many bytes more than are stored now."""
        used = shutil.disk_usage(self.place).used
        _mount(self.place, max(used + spare, PAGE), REMOUNT)

    def clear_space(self) -> None:
        """Make it large again."""
        _mount(self.place, ROOMY, REMOUNT)


@contextmanager
def mounted(place: Path) -> Iterator[SmallDisk]:
    """Mount a file system at a folder for the time of a ``with``; it is large at first."""
    _own_mounts()
    place.mkdir(parents=True, exist_ok=True)
    _mount(place, ROOMY)
    try:
        yield SmallDisk(place)
    finally:
        _call("umount2", os.fsencode(place), DETACH)


@cache
def _own_mounts() -> None:
    """Leave the mounts of the system, so that ours end with this process, however it ends."""
    user, group = os.getuid(), os.getgid()
    if user == 0:
        _call("unshare", NEW_MOUNTS)
    else:  # where the system allows it, anybody is root in a world of their own
        _call("unshare", NEW_MOUNTS | NEW_USERS)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _call("mount", b"none", b"/", None, PRIVATE, None)


def _mount(place: Path, size: int, flags: int = 0) -> None:
    _call("mount", b"tmpfs", os.fsencode(place), b"tmpfs", flags, f"size={size}".encode())


def _call(name: str, *arguments: object) -> None:
    """Call a function of the C library; a system that refuses it has no small disks."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments):
        why = os.strerror(ctypes.get_errno())
        raise Skipped(f"no file system can be mounted here: {name}: {why}")
