"""What the machine refuses, in the words of a person: no space, no memory, no more open files."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from multitudes.errors import DataError, MultitudesError, ResourceError, StoreError

_DISK = {
    errno.ENOSPC: "the disk is full",
    getattr(errno, "EDQUOT", -1): "the disk quota is used up",
    errno.EROFS: "the disk can only be read",
    errno.EFBIG: "a file would be larger than this system or session allows (ulimit -f)",
    errno.EIO: "the disk does not work as it should (input/output error)",
}
_PATHS = {
    errno.EACCES: "it may not be read or written by this user",
    errno.EPERM: "it may not be read or written by this user",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "it is a link that leads to itself",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.ENXIO: "it is a socket or a pipe that nobody writes to",
}
_FILES = {errno.EMFILE, errno.ENFILE}
# What libraries say if memory cannot be had while they are imported or start a thread.
_MEMORY = ("cannot allocate memory", "can't start new thread", "failed to map segment")


def shortage(error: BaseException) -> MultitudesError | None:
    """Return an error that says what the machine lacks; None if that is not what happened."""
    for one in _causes(error):
        number = one.errno if isinstance(one, OSError) else None
        file = one.filename if isinstance(one, OSError) else None
        where = "" if file is None else f" ({file})"
        if number in _DISK:
            return StoreError(
                f"{_DISK[number]}{where}: what was there before is untouched; make room or choose "
                "another place"
            )
        if number in _FILES:
            return ResourceError(
                "too many files are open: allow more (ulimit -n 4096), or use fewer threads"
            )
        if number in _PATHS and file is not None:
            return DataError(f"cannot use {str(file)[:100]}: {_PATHS[number]}: check the path")
        short = any(sign in str(one).lower() for sign in _MEMORY)
        if isinstance(one, MemoryError) or number == errno.ENOMEM or short:
            said = str(one).partition("\n")[0]
            return ResourceError(
                f"out of memory{f' ({said})' if said else ''}: use a machine with more, allow more "
                "(ulimit -v), or less data"
            )
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those behind it."""
    seen = 0
    while error is not None and seen < 10:
        yield error
        error, seen = error.__cause__ or error.__context__, seen + 1
