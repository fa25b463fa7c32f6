"""The model folder: written beside its place, made durable, then published in one step.

    model/
      manifest.json              names the data folder of the current model
      modules.json               only if sentence-transformers can read the model: see `foreign`
      data-5f0c6e1d2a3b4c5d/     its files; parts lie in sub-folders

A folder cannot be renamed over another one on any common system, but a file can. So a first save
renames a complete temporary folder to its place, and a later save puts its new data folder beside
the old one and then replaces `manifest.json` (``os.replace``: atomic on Linux, macOS and Windows).
Whoever reads finds the old model or the new one, whole, whenever the save was cut off. What a cut
off save leaves (`.saving-*` and data folders that no manifest names) the next save removes. Only
one process, or thread, writes to a folder at a time: see `writing`.
"""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from multitudes.errors import StoreError
from multitudes.files import disk
from multitudes.files.lease import AT_ONCE, SUFFIX, HeldError, beside, held
from multitudes.files.leftovers import sweep
from multitudes.stopping import exposed, shielded
from multitudes.store.foreign import MODULES, is_ours
from multitudes.store.manifest import MANIFEST, Manifest
from multitudes.store.opening import is_file, read_file
from multitudes.store.strict_json import MAX_BYTES

SECONDS_TO_WAIT = 60.0  # for another save to the same folder

_LEFTOVER = re.compile(r"(?:\.saving-|data-)[0-9a-f]{16}")
_OURS = re.compile(_LEFTOVER.pattern + r"|\..*multitudes-(?:lock|tmp)")


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
    entries = [entry.name for entry in path.iterdir() if not _OURS.fullmatch(entry.name)]
    if entries and not is_file(path / MANIFEST):
        raise StoreError(
            f"{path} holds files that are not a model (e.g. {sorted(entries)[0]!r}): "
            "choose another path, or an empty folder"
        )
    if entries:
        manifest = path / MANIFEST
        try:
            Manifest.from_bytes(read_file(manifest, MAX_BYTES), str(manifest))
        except StoreError as error:
            raise StoreError(
                f"will not save over {path}, which does not hold a model of this library: {error} "
                "(or remove the folder yourself, or choose another path)"
            ) from error


@contextmanager
def replaced(path: Path) -> Iterator[tuple[Path, Callable[[Manifest, bytes | None], None]]]:
    """Yield (folder to fill, publish); nothing is visible at `path` until publish is called.

    `publish` takes the manifest, and the content of `modules.json` or None. No temporary file is
    left behind, whether the body succeeds or raises. A second save to the same folder waits for
    the first one, for a minute.
    """
    path = Path(os.path.realpath(path))  # a symbolic link keeps pointing where it points
    check_target(path)
    with writing(path, wait=SECONDS_TO_WAIT), shielded():
        inside = path.is_dir()  # so that a folder that is a mount point stays on one file system
        remove_leftovers(path)
        token = secrets.token_hex(8)
        workspace = (path if inside else path.parent) / (
            f"{'' if inside else '.' + path.name}.saving-{token}"
        )
        try:
            data = workspace / f"data-{token}"
            disk.make_folder(data)
            with exposed():
                yield data, lambda *roots: _publish(workspace, data, path, *roots)
        finally:
            if workspace.exists():
                disk.remove(workspace)
            remove_leftovers(path)


@contextmanager
def writing(path: Path, *, wait: float = AT_ONCE) -> Iterator[None]:
    """Hold a model folder, or that of a checkpoint, as the only one who writes to it.

    Parameters
    ----------
    path : Path
        It need not exist.
    wait : float
        Seconds to wait for somebody else to finish.

    Raises
    ------
    StoreError
        If somebody else still writes there; it names the process.
    """
    try:
        path = Path(os.path.realpath(path))
        made = [folder for folder in path.parents if not folder.exists()]
        if not path.is_dir() or any(path.iterdir()):  # else it is empty because somebody wants so
            made = [path, *made]
    except (OSError, ValueError) as error:  # too long, or not a name at all
        reason = getattr(error, "strerror", None) or error
        raise StoreError(
            f"cannot write to {str(path)[:100]!r}: {reason}; choose another path"
        ) from error
    with shielded(), ExitStack() as stack:
        for folder in reversed(made):  # for the lease, or what was in it is gone
            stack.callback(_remove_if_empty, folder)
        try:
            place = None
            while place != (lease := _lease_of(path)):  # again if the folder was made meanwhile
                stack.enter_context(held(lease, wait=wait))
                place = lease
            if place != beside(path):
                _remove_if_dead(beside(path))
        except HeldError as error:
            raise StoreError(
                f"{error} is writing to {path}: wait until that is over, or choose another folder"
            ) from error
        except OSError as error:
            raise StoreError(
                f"cannot write to {path}: {error.strerror or error}; what is there is untouched"
            ) from error
        with exposed():
            yield


def _lease_of(path: Path) -> Path:
    """Return the file of the lease: inside, or beside a folder that is yet to be made."""
    if path.is_dir():
        return path / SUFFIX
    disk.make_folder(path.parent)
    return beside(path)


def _remove_if_dead(lease: Path) -> None:
    """Remove the lease of a process that was killed before the folder was there."""
    with suppress(HeldError, OSError):
        if lease.exists():
            with held(lease, wait=0):
                pass


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        disk.current().rmdir(folder)


def _publish(
    workspace: Path, data: Path, path: Path, manifest: Manifest, modules: bytes | None
) -> None:
    new_manifest, new_modules = workspace / MANIFEST, workspace / MODULES
    disk.write_bytes(new_manifest, manifest.to_bytes())
    if modules is not None:
        disk.write_bytes(new_modules, modules)
    disk.sync_tree(workspace)
    with shielded():
        if not path.exists():
            try:
                disk.replace(workspace, path)
            except OSError:
                if not path.is_dir():
                    raise  # not a race with another save
            else:
                disk.sync_folder(path.parent)
                return
        # Held already, unless somebody has made the folder since this save began.
        with held(path / SUFFIX, wait=SECONDS_TO_WAIT):
            _put_inside(workspace, data, path, has_modules=modules is not None)


def _put_inside(workspace: Path, data: Path, path: Path, *, has_modules: bool) -> None:
    """Move the new data into a folder that is there, and let its manifest name it."""
    disk.replace(data, path / data.name)
    disk.sync_folder(path)
    # First, so that it never points to data that is gone: whatever it names is there by now.
    if has_modules and is_ours(path / MODULES):
        disk.replace(workspace / MODULES, path / MODULES)
    disk.replace(workspace / MANIFEST, path / MANIFEST)
    if not has_modules and is_ours(path / MODULES):
        disk.remove(path / MODULES)
    disk.sync_folder(path)


def remove_leftovers(path: Path) -> None:
    """Remove what dead saves left at `path`, and data folders that are no longer current.

    To be called by who holds the folder; what lies beside it may be of a first save that is under
    way, which holds a lease of its own.
    """
    if path.is_dir():
        sweep(path)
        try:
            current = _current_data(path)
        except StoreError:
            return  # damaged, and perhaps to be restored from what is there
        for entry in list(path.iterdir()):
            if _LEFTOVER.fullmatch(entry.name) and entry.name != current:
                disk.remove(entry)
    started = re.compile(re.escape(f".{path.name}") + r"\.saving-[0-9a-f]{16}")
    if not path.parent.is_dir():
        return
    unfinished = [e for e in path.parent.glob(".*.saving-*") if started.fullmatch(e.name)]
    if not unfinished and not (path.is_dir() and beside(path).exists()):
        return
    with suppress(HeldError, OSError), held(beside(path), wait=0):
        for entry in unfinished:
            disk.remove(entry)


def discard(path: Path) -> None:
    """Remove a model folder: for those who look it is there, whole, or gone."""
    path = Path(os.path.realpath(path))
    dying = path.with_name(f".{path.name}.saving-{secrets.token_hex(8)}")  # as a dead save's
    with shielded():
        if path.exists():
            disk.replace(path, dying)
            disk.remove(dying)
        remove_leftovers(path)


def _current_data(path: Path) -> str | None:
    manifest = path / MANIFEST
    if not is_file(manifest):
        return None
    return Manifest.from_bytes(read_file(manifest, MAX_BYTES), str(manifest)).data_folder
