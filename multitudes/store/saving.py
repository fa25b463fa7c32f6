"""save: an object to a folder on disk, all or nothing."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from multitudes.errors import StoreError
from multitudes.files import disk
from multitudes.store.checksums import FileEntry, entries_of
from multitudes.store.files import check_dtype, write_arrays, write_strings
from multitudes.store.folder import replaced
from multitudes.store.foreign import root_modules, write_folder
from multitudes.store.manifest import (
    ARRAYS,
    MAX_DEPTH,
    ArrayEntry,
    Manifest,
    ObjectEntry,
    check_name,
    plain_json,
)
from multitudes.store.migration import current_version
from multitudes.store.opening import files_below
from multitudes.store.registry import state_of
from multitudes.store.state import State, Storable


def save(obj: Storable | State, path: str | PathLike[str]) -> None:
    """Save an object as a folder; an older model there is replaced in one step.

    Parameters
    ----------
    obj : Storable or State
        A fitted model, or anything else with `to_state`. A State is written as it is, also if no
        class is declared for its kind: `read_state` returns it.
    path : path
        The folder. It may be missing, empty, or hold a model; anything else is refused.

    Raises
    ------
    StoreError
        If the class could not be loaded again (see `state_of`), `path` holds other files, or the
        disk refuses. What was there before is untouched.
    """
    state = obj if isinstance(obj, State) else state_of(obj)
    path = Path(path)
    entry = describe(state)
    try:
        with replaced(path) as (data, publish):
            known = write_state(state, data)
            names = entry.file_names() | _foreign_files(data, entry)
            files = known | entries_of(data, names - known.keys())
            manifest = Manifest(data.name, files, entry)
            Manifest.from_bytes(manifest.to_bytes(), f"the manifest of this {state.kind}")
            publish(manifest, root_modules(data, manifest))
    except OSError as error:
        raise StoreError(
            f"could not save to {path}: {error}; what was there before is untouched"
        ) from error


def describe(state: State, *, depth: int = 0) -> ObjectEntry:
    """Return the manifest's entry for a state; refuse what cannot be stored."""
    if depth > MAX_DEPTH:
        raise StoreError(f"{state.kind} has parts nested more than {MAX_DEPTH} deep")
    for name in (*state.strings, *state.parts, *state.folders):
        check_name(name, f"a part, folder or list of strings of {state.kind}")
    for name in state.parts.keys() & state.folders.keys():
        raise StoreError(f"{state.kind} has a part and a folder named {name!r}: rename one")
    for name, array in state.arrays.items():
        if not isinstance(array, np.ndarray):
            raise StoreError(
                f"array {name!r} of {state.kind} must be a numpy array, got "
                f"{type(array).__name__}: convert it in to_state"
            )
        check_dtype(name, array)
    return ObjectEntry(
        kind=state.kind,
        config=plain_json(state.config, f"{state.kind}.config"),
        arrays={name: ArrayEntry(a.dtype.name, a.shape) for name, a in state.arrays.items()},
        strings={name: len(values) for name, values in state.strings.items()},
        parts={name: describe(part, depth=depth + 1) for name, part in state.parts.items()},
        folders=tuple(state.folders),
        version=current_version(state.kind) if state.version is None else state.version,
    )


def write_state(state: State, folder: Path) -> dict[str, FileEntry]:
    """Write the files of a state and, in sub-folders, of its parts.

    Files that are there already get a second name; returns their checksums, which are known.
    """
    known = {}
    if state.stored is not None and disk.link(state.stored.path, folder / ARRAYS):
        known[ARRAYS] = state.stored.entry
    elif state.arrays:
        write_arrays(folder / ARRAYS, state.arrays)
    for name, values in state.strings.items():
        write_strings(folder / f"{name}.jsonl", values)
    for name, part in state.parts.items():
        disk.make_folder(folder / name)
        below = write_state(part, folder / name)
        known |= {f"{name}/{path}": file for path, file in below.items()}
    for name, source in state.folders.items():
        write_folder(source, folder / name)
    return known


def _foreign_files(data: Path, entry: ObjectEntry) -> set[str]:
    return {home + name for home in entry.foreign_folders() for name in files_below(data / home)}
