"""Folders for what is needed only while a process runs; those of killed processes are removed."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from multitudes.files import disk
from multitudes.files.lease import SUFFIX, HeldError, held
from multitudes.stopping import exposed, shielded

_PREFIX = "multitudes-scratch-"
_own: set[Path] = set()  # in use by this process, which may take its own leases twice
_JUST_MADE = 60.0  # seconds in which a folder may have no lease yet


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder where the system keeps temporary files; it is removed in the end."""
    with shielded():
        _remove_dead(Path(tempfile.gettempdir()))
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        _own.add(folder)
        try:
            with held(folder / SUFFIX), exposed():
                yield folder
        finally:
            disk.remove(folder)
            _own.discard(folder)


def _remove_dead(place: Path) -> None:
    """Remove folders that processes of this user left when they were killed."""
    for folder in set(place.glob(f"{_PREFIX}*")) - _own:
        with suppress(HeldError, OSError):
            about = folder.lstat()
            mine = not folder.is_symlink() and about.st_uid == _user(about.st_uid)
            young = time.time() - about.st_mtime < _JUST_MADE
            if not mine or (young and not (folder / SUFFIX).exists()):
                continue
            with held(folder / SUFFIX, wait=0):
                for entry in folder.iterdir():
                    if entry.name != SUFFIX:
                        disk.remove(entry)
            disk.current().rmdir(folder)


def _user(owner: int) -> int:
    return os.getuid() if hasattr(os, "getuid") else owner
