"""Files that are written completely or not at all, whatever happens to the process.

    .predictions.jsonl.multitudes-lock    who writes it: see `lease`
    .predictions.jsonl.multitudes-tmp     what is written so far
    predictions.jsonl                     the old file until the new one is whole and on the disk

Model folders are written by `multitudes.store.folder`, in the same way.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from multitudes.files import disk
from multitudes.files.lease import HeldError, beside, held
from multitudes.files.leftovers import sweep_once
from multitudes.files.together import Group, current, temporary_of
from multitudes.stopping import exposed, shielded

_open: set[Path] = set()  # temporaries of this process


@contextmanager
def replaced_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file; when the body ends without an error, it is at `path`, safely on the disk.

    Inside of `together` it appears with the others. A link keeps pointing where it points, and a
    pipe or device is written to as it is.

    Raises
    ------
    HeldError
        If somebody else is writing there.
    OSError
        If the disk refuses.
    """
    if is_device(path):
        with path.open("wb") as device:
            yield device
        return
    target = Path(os.path.realpath(path))
    temporary, group = temporary_of(target), current()
    with shielded(), ExitStack() as own:
        if group is None or not group.again(target):
            leases = own if group is None else group.leases
            leases.enter_context(held(beside(target)))
            leases.enter_context(_once(temporary))
        own.callback(_remove_unless_waiting, temporary, group)
        sweep_once(target.parent)
        with disk.new_file(temporary) as file:
            with exposed():
                yield file
            if not file.closed:  # some libraries close what they have written to
                file.flush()
        disk.sync_file(temporary)
        _keep_mode(target, temporary)
        if group is not None:
            group.add(target)
            return
        disk.replace(temporary, target)
        disk.sync_folder(target.parent)


def _remove_unless_waiting(temporary: Path, group: Group | None) -> None:
    waits = group is not None and temporary in map(temporary_of, group.targets)
    if not waits and temporary.exists():
        disk.remove(temporary)


@contextmanager
def _once(temporary: Path) -> Iterator[None]:
    """Refuse a thread that is writing the same file already, to whom its own lease is open."""
    if temporary in _open:
        raise HeldError(os.getpid())
    _open.add(temporary)
    try:
        yield
    finally:
        _open.discard(temporary)


def is_device(path: Path) -> bool:
    """Return whether something is there that is neither a file nor a folder: a pipe, a device."""
    try:
        kind = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def _keep_mode(old: Path, new: Path) -> None:
    """Give the new file the permissions of the one that it replaces."""
    with suppress(OSError):
        new.chmod(stat.S_IMODE(old.stat().st_mode))
