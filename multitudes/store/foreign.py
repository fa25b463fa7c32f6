"""Files in another library's layout: a sub-folder of a model that the store only carries.

One such layout gets help: sentence-transformers takes a folder whose `modules.json` says where its
modules lie. An encoder is deep inside a model, in a data folder whose name changes with each save.
So a model with exactly one such folder gets a `modules.json` at its root that points into it, and
then ``SentenceTransformer("model")`` works. Our own loading never reads it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from multitudes.errors import StoreError
from multitudes.store.manifest import Manifest, check_foreign_file
from multitudes.store.state import FolderSource

MODULES = "modules.json"


def write_folder(source: FolderSource, target: Path) -> None:
    """Make `target` and fill it: a copy of the folder, or what the function writes."""
    target.mkdir()
    if isinstance(source, Path):
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        source(target)
    for name in files_below(target):
        check_foreign_file(name, target.name)


def files_below(folder: Path) -> list[str]:
    """Return the paths of all files below a folder, relative to it; refuse links."""
    names = []
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise StoreError(f"{path} is a link, expected a file: copy what it points to")
        if not path.is_dir():
            names.append(path.relative_to(folder).as_posix())
    return names


@contextmanager
def on_disk(source: FolderSource) -> Iterator[Path]:
    """Yield the folder as a path: itself, or a temporary one that the function has filled."""
    if isinstance(source, Path):
        yield source
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as parent:
        target = Path(parent) / "folder"
        write_folder(source, target)
        yield target


def root_modules(data: Path, manifest: Manifest) -> bytes | None:
    """Return the content of the root's `modules.json`, or None for a model without an encoder."""
    homes = [h for h in manifest.root.foreign_folders() if f"{h}{MODULES}" in manifest.files]
    if len(homes) != 1:
        return None
    modules = json.loads((data / homes[0] / MODULES).read_bytes())
    inside = f"{manifest.data_folder}/{homes[0]}"
    moved = [{**module, "path": (inside + module["path"]).rstrip("/")} for module in modules]
    return json.dumps(moved, indent=2).encode() + b"\n"


def is_ours(path: Path) -> bool:
    """Return whether a `modules.json` is missing, or was written by a save and may be replaced."""
    try:
        return str(json.loads(path.read_bytes())[0]["path"]).startswith("data-")
    except FileNotFoundError:
        return True
    except (OSError, ValueError, LookupError, TypeError):
        return False
