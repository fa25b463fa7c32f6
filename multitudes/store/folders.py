"""Files in another library's layout: a sub-folder of a model that the store only carries."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from multitudes.errors import StoreError
from multitudes.store.manifest import check_foreign_file
from multitudes.store.state import FolderSource


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
    """Paths of all files below a folder, relative to it, with slashes; links are refused."""
    names = []
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise StoreError(f"{path} is a link, expected a file: copy what it points to")
        if not path.is_dir():
            names.append(path.relative_to(folder).as_posix())
    return names


@contextmanager
def on_disk(source: FolderSource) -> Iterator[Path]:
    """The folder as a path: itself, or a temporary one that the function has filled."""
    if isinstance(source, Path):
        yield source
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as parent:
        target = Path(parent) / "folder"
        write_folder(source, target)
        yield target
