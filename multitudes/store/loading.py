"""load: a folder on disk to the object that was saved there, checked before it is trusted."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from multitudes.errors import MultitudesError, StoreError
from multitudes.store.arrays import AnyArray, map_arrays
from multitudes.store.damage import damaged
from multitudes.store.folders import files_below
from multitudes.store.manifest import ARRAYS, MANIFEST, Manifest, ObjectEntry
from multitudes.store.registry import build
from multitudes.store.saving import sha256_of
from multitudes.store.state import State
from multitudes.store.strings import read_strings

_ATTEMPTS = 20  # a reader loses a race only while others save over the model again and again


def load(path: str | PathLike[str], *, verify: bool = False) -> object:
    """Load what `save` wrote; arrays are memory-mapped and read-only.

    Structure, shapes, sizes and version are always checked. Nothing a file says is executed.

    Parameters
    ----------
    path : path
        The model folder.
    verify : bool
        Also read every file whole and compare its SHA-256.

    Raises
    ------
    StoreError
        If the folder is absent, not a model, damaged, edited or from a newer version.
    """
    state = read_state(path, verify=verify)
    try:
        return build(state)
    except MultitudesError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StoreError(
            f"{path} is whole, but {state.kind!r} could not be rebuilt from it ({error!r}): "
            "was it saved by another version of its class?"
        ) from error


def read_state(path: str | PathLike[str], *, verify: bool = False) -> State:
    """The `State` in a model folder, without building the object."""
    path = Path(path)
    for attempt in range(_ATTEMPTS):
        raw = read_manifest_bytes(path)
        manifest = Manifest.from_bytes(raw, str(path / MANIFEST))
        try:
            data = path / manifest.data_folder
            check_files(data, manifest, verify=verify)
            return _state(data, manifest.root)
        except (StoreError, FileNotFoundError):
            # Files vanish under a reader when somebody saves a new model: then take that one.
            if attempt == _ATTEMPTS - 1 or read_manifest_bytes(path) == raw:
                raise
    raise AssertionError("the last attempt returns or raises")


def read_manifest(path: str | PathLike[str]) -> Manifest:
    """The checked manifest of a model folder."""
    path = Path(path)
    return Manifest.from_bytes(read_manifest_bytes(path), str(path / MANIFEST))


def read_manifest_bytes(path: Path) -> bytes:
    """The content of manifest.json, or a StoreError that says what is there instead."""
    try:
        return (path / MANIFEST).read_bytes()
    except OSError as error:
        if not path.exists():
            problem = f"there is no model at {path}: check the path"
        elif not path.is_dir():
            problem = f"{path} is a file: a model is the folder that `save` made"
        elif not (path / MANIFEST).exists():
            problem = f"{path} is not a multitudes model: it has no {MANIFEST}"
        else:
            problem = f"{path / MANIFEST} cannot be read: {error}"
        raise StoreError(problem) from error


def check_files(data: Path, manifest: Manifest, *, verify: bool) -> None:
    """Every file is there and has its size; with `verify`, its SHA-256 as well."""
    for name, entry in manifest.files.items():
        path = data / name
        if not path.is_file():
            raise StoreError(f"{path} is missing: restore it from a copy, or save the model again")
        size = path.stat().st_size
        if size != entry.n_bytes:
            raise damaged(path, f"it has {size} bytes, the manifest says {entry.n_bytes}")
        if verify and sha256_of(path) != entry.sha256:
            raise damaged(path, "its SHA-256 is not the one in the manifest")
    # Another library reads these folders, and might follow a file that somebody added.
    for home in manifest.root.foreign_folders():
        stray = {home + name for name in files_below(data / home)} - manifest.files.keys()
        if stray:
            raise damaged(data / min(stray), "it is not in the manifest")


def _state(folder: Path, entry: ObjectEntry) -> State:
    return State(
        kind=entry.kind,
        config=dict(entry.config),
        arrays=_arrays(folder / ARRAYS, entry) if entry.arrays else {},
        strings={
            n: read_strings(folder / f"{n}.jsonl", count) for n, count in entry.strings.items()
        },
        parts={name: _state(folder / name, part) for name, part in entry.parts.items()},
        folders={name: folder / name for name in entry.folders},
    )


def _arrays(path: Path, entry: ObjectEntry) -> dict[str, AnyArray]:
    """The mapped arrays, in the manifest's order and as it describes them."""
    mapped = map_arrays(path)
    if mapped.keys() != entry.arrays.keys():
        stray = sorted(mapped.keys() ^ entry.arrays.keys())
        raise damaged(path, f"it and the manifest disagree about the arrays {stray}")
    for name, expected in entry.arrays.items():
        found = mapped[name]
        if found.dtype != np.dtype(expected.dtype) or found.shape != expected.shape:
            raise damaged(
                path,
                f"array {name!r} is {found.dtype} {found.shape}, the manifest says "
                f"{expected.dtype} {expected.shape}",
            )
    return {name: mapped[name] for name in entry.arrays}
