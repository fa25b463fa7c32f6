"""Files of a model are opened here alone: regular files that lie where they seem to lie.

A model folder may come from anybody. A link in it could lead to any file of this machine, a pipe
would be waited for, and a device such as `/dev/zero` be read forever: whatever is not a plain file
or folder is refused without opening it. The model folder itself may be a link.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from multitudes.errors import StoreError

_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}
_LINK_TAGS = {0xA000000C, 0xA0000003}  # how Windows marks links and junctions
# Where a system has them: a link that has just been put there is not followed, and a pipe that has
# just been put there is not waited for.
_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)

_LINK_ADVICE = (
    "copy the files themselves (cp -rL; with huggingface_hub, snapshot_download(..., local_dir=))"
)


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading; refuse links, pipes, devices, sockets and folders."""
    try:
        _check(path, path.lstat(), stat.S_IFREG)  # opening a device may do something already
        handle = os.open(path, _FLAGS)
        try:
            _check(path, os.fstat(handle), stat.S_IFREG)
            return os.fdopen(handle, "rb", buffering=0)
        except BaseException:
            os.close(handle)
            raise
    except OSError as error:
        raise _unreadable(path, error) from error


def read_file(path: Path, limit: int) -> bytes:
    """Return the content of a small file; refuse one of more than `limit` bytes."""
    with open_file(path) as file:
        content = read_piece(file, path, limit + 1)
    if len(content) > limit:
        raise StoreError(f"{path} has more than {limit:,} bytes: restore a copy of the model")
    return content


def read_piece(file: BinaryIO, path: Path, n_bytes: int) -> bytes:
    """Return the next bytes of an open file, fewer only at its end; `path` is for messages."""
    pieces = []
    try:
        while n_bytes > 0 and (piece := file.read(min(n_bytes, 1 << 24))):
            pieces.append(piece)
            n_bytes -= len(piece)
    except OSError as error:
        raise _unreadable(path, error) from error
    return b"".join(pieces)


def files_below(folder: Path) -> dict[str, os.stat_result]:
    """Return what the system knows of all files below a folder, by their paths relative to it.

    Raises
    ------
    StoreError
        If the folder, or anything below it, is neither a regular file nor a folder.
    """
    found: dict[str, os.stat_result] = {}
    waiting = [(folder, "")]
    try:
        _check(folder, folder.lstat(), stat.S_IFDIR)
        while waiting:
            parent, prefix = waiting.pop()
            with os.scandir(parent) as entries:
                for entry in entries:
                    # Not entry.stat(): Windows leaves device and inode out there.
                    path, about = parent / entry.name, os.lstat(entry.path)
                    if stat.S_ISDIR(about.st_mode) and not _is_windows_link(about):
                        waiting.append((path, f"{prefix}{entry.name}/"))
                        continue
                    _check(path, about, stat.S_IFREG)
                    found[prefix + entry.name] = about
    except OSError as error:
        raise _unreadable(Path(error.filename or folder), error) from error
    return found


def is_file(path: Path) -> bool:
    """Return whether there is a regular file at a path, which is not a link."""
    try:
        about = path.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(about.st_mode) and not _is_windows_link(about)


def _check(path: Path, about: os.stat_result, expected: int) -> None:
    kind = stat.S_IFLNK if _is_windows_link(about) else stat.S_IFMT(about.st_mode)
    if kind == expected:
        return
    advice = _LINK_ADVICE if kind == stat.S_IFLNK else "restore a copy of the model"
    raise StoreError(
        f"{path} is {_KINDS.get(kind, 'of an unknown kind')}, expected {_KINDS[expected]}: {advice}"
    )


def _is_windows_link(about: os.stat_result) -> bool:
    return getattr(about, "st_reparse_tag", 0) in _LINK_TAGS


def _unreadable(path: Path, error: OSError) -> StoreError:
    if isinstance(error, FileNotFoundError):
        return StoreError(f"{path} is missing: restore it from a copy, or save the model again")
    return StoreError(
        f"{path} cannot be read ({error.strerror or error}): check who may read it, or restore a "
        "copy"
    )
