"""Which models were found whole before, so that they load at once until a file of theirs changes.

What is kept is an empty file in the user's cache folder, never in the model folder. Its name is
made of the manifest and of device, inode, size and times of every file: the time of the last change
of an inode cannot be set by a program, so a changed file is seen. It is not kept where that does
not hold, nor for files so young that they could change again without it being seen.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from multitudes.files.cache import cache_folder
from multitudes.version import __version__

FILES, CONTENTS = "files", "contents"  # what was checked
_YOUNG = 3.0  # seconds; some file systems tell times only to two
_MOST = 1000  # models that are remembered, about


def key_of(manifest: bytes, files: Mapping[str, os.stat_result]) -> str | None:
    """Return a name for a model in its present state, or None if it cannot be remembered."""
    if sys.platform == "win32":
        return None  # its "time of the last change" is the time a file was made
    youngest = max((about.st_ctime for about in files.values()), default=0.0)
    if not 0 <= youngest < time.time() - _YOUNG:
        return None
    digest = hashlib.sha256(f"{__version__}\n".encode())
    digest.update(hashlib.sha256(manifest).digest())
    for name, about in sorted(files.items()):
        state = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        digest.update(f"{name!r} {state}\n".encode())
    return digest.hexdigest()


def is_remembered(key: str | None, what: str) -> bool:
    """Return whether a model was found whole before."""
    folder = _folder()
    if key is None or folder is None:
        return False
    try:
        about = folder.lstat()
        private = about.st_uid == os.getuid() and not about.st_mode & 0o022
        return private and (folder / f"{key}-{what}").is_file()  # another's word does not count
    except OSError:
        return False


def remember(key: str | None, what: str) -> None:
    """Remember that a model was found whole; where that is not possible, it is checked again."""
    folder = _folder()
    if key is None or folder is None:
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _forget_some(folder)
        (folder / f"{key}-{what}").touch(mode=0o600)
    except OSError:
        return


def _forget_some(folder: Path) -> None:
    """Remove the older half if there are too many."""
    entries = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(folder)]
    if len(entries) >= 2 * _MOST:
        for _, path in sorted(entries)[:_MOST]:
            Path(path).unlink(missing_ok=True)


def _folder() -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / "checked-models"
