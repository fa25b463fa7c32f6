"""A trained encoder in a folder of small files, so that it can be fetched from another machine."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

from multitudes.encoder.prime import Prime

LARGEST = 15 * 10**6  # bytes of a file
PART = ".part"


def save_encoder(model: Prime, folder: Path) -> None:
    """Write the backbone in float16; a file of more than 15 MB becomes several."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    backbone = copy.deepcopy(model.network_.backbone).cpu()
    backbone.model.half()
    backbone.write_folder(folder)
    for path in list(folder.rglob("*")):
        if path.is_file() and path.stat().st_size > LARGEST:
            split(path)


def split(path: Path) -> None:
    """Put a file's bytes into numbered parts, and remove it."""
    content = path.read_bytes()
    for number, start in enumerate(range(0, len(content), LARGEST)):
        part = path.with_name(f"{path.name}{PART}{number:03d}")
        part.write_bytes(content[start : start + LARGEST])
    path.unlink()


def whole_folder(folder: Path, target: Path) -> Path:
    """A copy of a folder with its files whole again; returns `target`."""
    shutil.copytree(folder, target, dirs_exist_ok=True)
    for first in list(target.rglob(f"*{PART}000")):
        whole = first.with_name(first.name.removesuffix(f"{PART}000"))
        parts = sorted(first.parent.glob(f"{whole.name}{PART}*"))
        whole.write_bytes(b"".join(part.read_bytes() for part in parts))
        for part in parts:
            part.unlink()
    return target
