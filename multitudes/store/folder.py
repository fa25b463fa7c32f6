"""The model folder: written beside its place, made durable, then published in one step.

    model/
      manifest.json              names the data folder of the current model
      modules.json               only if sentence-transformers can read the model: see `foreign`
      data-5f0c6e1d2a3b4c5d/     its files; parts lie in sub-folders

A folder cannot be renamed over another one on any common system, but a file can. So a first save
renames a complete temporary folder to its place, and a later save puts its new data folder beside
the old one and then replaces `manifest.json` (``os.replace``: atomic on Linux, macOS and Windows).
Whoever reads finds the old model or the new one, whole, whenever the save was cut off. What a cut
off save leaves (`.saving-*` and data folders that no manifest names) the next save removes.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from multitudes.errors import StoreError
from multitudes.store.foreign import MODULES, is_ours
from multitudes.store.lease import Lease, is_held
from multitudes.store.manifest import MANIFEST, Manifest

_LEFTOVER = re.compile(r"(?:\.saving-|data-)([0-9a-f]{16})(?:\.lock|\.lock\.new)?")
_WINDOWS = os.name == "nt"
_REPLACE_ATTEMPTS = 50  # Windows refuses while a reader has the manifest open


def check_writable(path: Path) -> None:
    """Refuse a path where no folder can be written, before there is anything to lose.

    Nothing there is changed: a temporary file is tried in the folder, or in the nearest one above
    it that exists.
    """
    place = path
    try:
        place = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
        if not place.is_dir():
            raise StoreError(f"cannot save to {path}: {place} is a file: choose another path")
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise StoreError(
            f"cannot save to {path}: {place} cannot be written to ({error.strerror or error}): "
            "choose another path"
        ) from error


def check_target(path: Path) -> None:
    """Refuse a path that cannot hold a model, or that holds something other than a model.

    No user file is ever removed.
    """
    check_writable(path)
    if not path.exists():
        return
    entries = [entry.name for entry in path.iterdir() if not _LEFTOVER.fullmatch(entry.name)]
    if entries and not (path / MANIFEST).is_file():
        raise StoreError(
            f"{path} holds files that are not a model (e.g. {sorted(entries)[0]!r}): "
            "choose another path, or an empty folder"
        )
    if entries:
        manifest = path / MANIFEST
        try:
            Manifest.from_bytes(manifest.read_bytes(), str(manifest))
        except StoreError as error:
            raise StoreError(
                f"will not save over {path}, which does not hold a model of this library: {error} "
                "(or remove the folder yourself, or choose another path)"
            ) from error


@contextmanager
def replaced(path: Path) -> Iterator[tuple[Path, Callable[[Manifest, bytes | None], None]]]:
    """Yield (folder to fill, publish); nothing is visible at `path` until publish is called.

    `publish` takes the manifest, and the content of `modules.json` or None. No temporary file is
    left behind, whether the body succeeds or raises.
    """
    path = path.resolve()  # a symbolic link keeps pointing where it points
    check_target(path)
    remove_leftovers(path)
    inside = path.is_dir()  # so that a folder that is a mount point stays on one file system
    place = path if inside else path.parent
    place.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(8)
    workspace = place / f"{'' if inside else '.' + path.name}.saving-{token}"
    lease = Lease(workspace.with_name(workspace.name + ".lock"))
    try:
        data = workspace / f"data-{token}"
        data.mkdir(parents=True)
        yield data, lambda *roots: _publish(workspace, data, path, *roots)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
        lease.release()
    remove_leftovers(path)


def _publish(
    workspace: Path, data: Path, path: Path, manifest: Manifest, modules: bytes | None
) -> None:
    new_manifest, new_modules = workspace / MANIFEST, workspace / MODULES
    new_manifest.write_bytes(manifest.to_bytes())
    if modules is not None:
        new_modules.write_bytes(modules)
    sync_tree(workspace)
    if not path.exists():
        try:
            workspace.rename(path)
        except OSError:
            if not path.is_dir():
                raise  # not a race with another save
        else:
            _sync_folder(path.parent)
            return
    data.rename(path / data.name)
    _sync_folder(path)
    # First, so that it never points to data that is gone: whatever it names is there by now.
    if modules is not None and is_ours(path / MODULES):
        _replace(new_modules, path / MODULES)
    _replace(new_manifest, path / MANIFEST)
    if modules is None and is_ours(path / MODULES):
        (path / MODULES).unlink(missing_ok=True)
    _sync_folder(path)


def remove_leftovers(path: Path) -> None:
    """Remove what dead saves left at `path`, and data folders that are no longer current."""
    stale = []
    if path.parent.is_dir():
        prefix = re.compile(re.escape(f".{path.name}") + r"(?=\.saving-)")
        stale = _stale(
            path,
            [
                (e, prefix.sub("", e.name))
                for e in path.parent.glob(".*.saving-*")
                if prefix.match(e.name)
            ],
        )
    if path.is_dir():
        stale += _stale(path, [(entry, entry.name) for entry in path.iterdir()])
        # Read after the leases were looked at: a save that finished meanwhile is in it.
        current = _current_data(path)
        stale = [entry for entry in stale if entry.name != current]
    for entry in stale:
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _stale(path: Path, named: list[tuple[Path, str]]) -> list[Path]:
    """Return the entries, of (entry, name inside a model), whose save no living process holds."""
    matches = [(entry, _LEFTOVER.fullmatch(name)) for entry, name in named]
    return [entry for entry, match in matches if match and not _is_saving(path, entry, match[1])]


def _is_saving(path: Path, entry: Path, token: str) -> bool:
    """Return whether the save of this token is under way.

    Its lease lies inside the model or, for a first save, beside it; a first save still puts its
    data inside if another save was faster.
    """
    inside = path / f".saving-{token}.lock"
    beside = path.with_name(f".{path.name}.saving-{token}.lock")
    own = [entry] if entry.name.endswith(".lock.new") else []
    return any(is_held(lease) for lease in [inside, beside, *own])


def _current_data(path: Path) -> str | None:
    manifest = path / MANIFEST
    if not manifest.is_file():
        return None
    return Manifest.from_bytes(manifest.read_bytes(), str(manifest)).data_folder


def _replace(source: Path, target: Path) -> None:
    for attempt in range(_REPLACE_ATTEMPTS):
        try:
            source.replace(target)
            return
        except PermissionError:
            if not _WINDOWS or attempt == _REPLACE_ATTEMPTS - 1:
                raise
            time.sleep(0.02)


def sync_tree(folder: Path) -> None:
    """Force every file and folder below `folder`, and itself, onto the disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            with (Path(parent) / name).open("r+b") as file:
                os.fsync(file.fileno())
        _sync_folder(Path(parent))


def _sync_folder(folder: Path) -> None:
    if _WINDOWS:
        return  # Windows has no handle to sync for a folder
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
