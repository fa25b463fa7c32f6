"""Files in another library's layout: a sub-folder of a model that the store only carries.

One such layout gets help: sentence-transformers takes a folder whose `modules.json` says where its
modules lie. An encoder is deep inside a model, in a data folder whose name changes with each save.
So a model with exactly one such folder gets a `modules.json` at its root that points into it, and
then ``SentenceTransformer("model")`` works. Our own loading never reads it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from multitudes.errors import MultitudesError, StoreError
from multitudes.files.disk import make_folder
from multitudes.files.scratch import scratch_folder
from multitudes.store import strict_json
from multitudes.store.manifest import Manifest, check_foreign_file
from multitudes.store.opening import files_below, read_file
from multitudes.store.state import FolderSource

MODULES = "modules.json"


def write_folder(source: FolderSource, target: Path) -> None:
    """Make `target` and fill it: a copy of the folder, or what the function writes."""
    make_folder(target)
    if isinstance(source, Path):
        files_below(source)  # refuses what must not be copied, and what would be copied forever
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        try:
            source(target)
        except (MultitudesError, OSError, MemoryError):
            raise
        except Exception as error:  # libraries have errors of their own for a full disk
            raise OSError(f"{target.name} could not be written: {error}") from error
    for name in files_below(target):
        check_foreign_file(name, target.name)


@contextmanager
def on_disk(source: FolderSource) -> Iterator[Path]:
    """Yield the folder as a path: itself, or a temporary one that the function has filled."""
    if isinstance(source, Path):
        yield source
        return
    with scratch_folder() as parent:
        target = parent / "folder"
        write_folder(source, target)
        yield target


def root_modules(data: Path, manifest: Manifest) -> bytes | None:
    """Return the content of the root's `modules.json`, or None for a model without an encoder."""
    homes = [h for h in manifest.root.foreign_folders() if f"{h}{MODULES}" in manifest.files]
    if len(homes) != 1:
        return None
    raw = read_file(data / homes[0] / MODULES, strict_json.MAX_BYTES)
    inside = f"{manifest.data_folder}/{homes[0]}"
    try:
        modules = strict_json.parse(raw)
        for module in modules:
            if module["path"]:
                check_foreign_file(module["path"], MODULES)
        moved = [{**module, "path": (inside + module["path"]).rstrip("/")} for module in modules]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoreError(f"{MODULES} of an encoder is not what it should be: {error!r}") from error
    return json.dumps(moved, indent=2).encode() + b"\n"


def is_ours(path: Path) -> bool:
    """Return whether a `modules.json` is missing, or was written by a save and may be replaced."""
    try:
        if not os.path.lexists(path):
            return True
        modules = strict_json.parse(read_file(path, strict_json.MAX_BYTES))
        return str(modules[0]["path"]).startswith("data-")
    except (OSError, StoreError, ValueError, LookupError, TypeError):
        return False
