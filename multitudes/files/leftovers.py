"""What killed processes left in a folder: found by its name, removed when its lease can be had."""

from __future__ import annotations

import os
from pathlib import Path

from multitudes.files import disk
from multitudes.files.lease import SUFFIX, HeldError, held
from multitudes.files.together import TEMPORARY, finish

_swept: set[tuple[int, Path]] = set()


def sweep(folder: Path) -> None:
    """Remove what dead writers of any output left in a folder; the living are left alone."""
    names = set()
    try:
        finish(folder)
        with os.scandir(folder) as entries:
            for entry in entries:
                for suffix in (SUFFIX, TEMPORARY):
                    if entry.name.startswith(".") and entry.name.endswith(suffix):
                        names.add(entry.name.removesuffix(suffix))
    except OSError:
        return
    for name in sorted(names):
        try:
            with held(folder / (name + SUFFIX), wait=0):
                disk.remove(folder / (name + TEMPORARY))
        except (HeldError, OSError):
            continue


def sweep_once(folder: Path) -> None:
    """Do so at the first writing of this process to a folder, which may be large."""
    key = (os.getpid(), folder)
    if key not in _swept:
        _swept.add(key)
        sweep(folder)
