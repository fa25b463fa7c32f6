"""load: a folder on disk to the object that was saved there, checked before it is trusted."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from multitudes.errors import StoreError
from multitudes.store.files import AnyArray, damaged, map_arrays, read_strings, sha256_of
from multitudes.store.foreign import files_below
from multitudes.store.manifest import ARRAYS, MANIFEST, Manifest, ObjectEntry
from multitudes.store.migration import build
from multitudes.store.state import State

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
        If the folder is missing, not a model, damaged, edited or from a newer version, or if its
        settings are not those of the class.
    """
    manifest, state = _read(Path(path), verify=verify)
    try:
        return build(state)
    except StoreError as error:
        saved = f"saved by multitudes {manifest.library_version}"
        raise StoreError(f"{path}, {saved}: {error}") from error


def read_state(path: str | PathLike[str], *, verify: bool = False) -> State:
    """Return the `State` in a model folder, as it was saved, without building the object."""
    return _read(Path(path), verify=verify)[1]


def _read(path: Path, *, verify: bool) -> tuple[Manifest, State]:
    for attempt in range(_ATTEMPTS):
        raw = read_manifest_bytes(path)
        manifest = Manifest.from_bytes(raw, str(path / MANIFEST))
        try:
            data = path / manifest.data_folder
            check_files(data, manifest, verify=verify)
            return manifest, _state(data, manifest.root)
        except (StoreError, FileNotFoundError):
            # Files vanish under a reader when somebody saves a new model: then take that one.
            if attempt == _ATTEMPTS - 1 or read_manifest_bytes(path) == raw:
                raise
    raise AssertionError("the last attempt returns or raises")


def read_manifest(path: str | PathLike[str]) -> Manifest:
    """Return the checked manifest of a model folder."""
    path = Path(path)
    return Manifest.from_bytes(read_manifest_bytes(path), str(path / MANIFEST))


def read_manifest_bytes(path: Path) -> bytes:
    """Return the content of manifest.json, or raise a StoreError that says what is there."""
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
    """Check that every file is there and has its size and, with `verify`, its SHA-256."""
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
        version=entry.version,
    )


def _arrays(path: Path, entry: ObjectEntry) -> dict[str, AnyArray]:
    """Return the mapped arrays, in the manifest's order, checked against it."""
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
