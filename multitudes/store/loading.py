"""load: a folder on disk to the object that was saved there, checked before it is trusted.

The first load of a folder reads every file and compares its checksum, then looks at what the arrays
hold (`multitudes.store.checking`). That both were as they should be is remembered until a file
changes (`multitudes.store.remembered`), so later loads map the arrays and read nothing twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from typing import TypeVar

from multitudes.errors import StoreError
from multitudes.store import remembered, strict_json
from multitudes.store.manifest import MANIFEST, Manifest
from multitudes.store.migration import build, checked
from multitudes.store.opening import read_file
from multitudes.store.reading import How, Reading
from multitudes.store.state import State

Found = TypeVar("Found")
_around: ContextVar[How | None] = ContextVar("_around", default=None)
_ATTEMPTS = 20  # a reader loses a race only while others save over the model again and again


def load(path: str | PathLike[str], *, verify: bool = False, in_memory: bool = False) -> object:
    """Load what `save` wrote; arrays are read-only.

    Structure, shapes, sizes, version, and on the first load checksums and contents are checked.
    Nothing a file says is executed.

    Parameters
    ----------
    path : path
        The model folder.
    verify : bool
        Check everything again, by the SHA-256 of every file.
    in_memory : bool
        Read arrays into memory of this process instead of mapping the files: loading takes longer
        and processes do not share them, but nothing happens when a file is cut or overwritten
        while the model is in use, which for a mapped one ends the process.

    Raises
    ------
    StoreError
        If the folder is missing, not a model, damaged, edited or from a newer version, if it holds
        links, or if its settings are not those of the class.
    """

    def built(reading: Reading) -> object:
        return reading.checked(lambda state: build(state, trusted=reading.contents_known))

    # A model that refers to another one has it loaded in the same way.
    around = _around.get() or How(verify=False, in_memory=False)
    how = How(verify or around.verify, in_memory or around.in_memory)
    token = _around.set(how)
    try:
        return _latest(Path(path), how, built)
    finally:
        _around.reset(token)


def read_state(
    path: str | PathLike[str],
    *,
    verify: bool = False,
    in_memory: bool = False,
    contents: bool = False,
) -> State:
    """Return the `State` in a model folder, as it was saved, without building the object.

    Files are checked as in `load`. What the arrays hold is not, since no class need be known:
    `build` does that. With `contents` it is done here, for use without `build`, and the state is
    brought to the present version.
    """

    def read(reading: Reading) -> State:
        if contents:
            return reading.checked(lambda state: checked(state, trusted=reading.contents_known))
        state = reading.state()
        reading.finish(remembered.FILES)
        return state

    return _latest(Path(path), How(verify, in_memory), read)


def read_manifest(path: str | PathLike[str]) -> Manifest:
    """Return the checked manifest of a model folder."""
    path = Path(path)
    return Manifest.from_bytes(read_manifest_bytes(path), str(path / MANIFEST))


def read_manifest_bytes(path: Path) -> bytes:
    """Return the content of manifest.json, or raise a StoreError that says what is there."""
    try:
        return read_file(path / MANIFEST, strict_json.MAX_BYTES)
    except (StoreError, ValueError) as error:
        if not os.path.exists(path):  # noqa: PTH110 - False, no error, for a name that is too long
            problem = f"there is no model at {path}: check the path"
        elif not path.is_dir():
            problem = f"{path} is a file: a model is the folder that `save` made"
        elif not os.path.lexists(path / MANIFEST):
            problem = f"{path} is not a multitudes model: it has no {MANIFEST}"
        else:
            raise
        raise StoreError(problem) from error


def _latest(path: Path, how: How, read: Callable[[Reading], Found]) -> Found:
    """Read a folder; if somebody saves a new model meanwhile, read that one."""
    for attempt in range(_ATTEMPTS):
        raw = read_manifest_bytes(path)
        manifest = Manifest.from_bytes(raw, str(path / MANIFEST))
        try:
            return read(Reading(path / manifest.data_folder, raw, manifest, how))
        except StoreError:
            # Files vanish under a reader when somebody saves a new model.
            if attempt == _ATTEMPTS - 1 or read_manifest_bytes(path) == raw:
                raise
    raise AssertionError("the last attempt returns or raises")
