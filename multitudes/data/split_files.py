"""Folders with a file per split: ``trn.jsonl.xz``, ``test.txt``, ``dev.csv``, ..."""

from __future__ import annotations

from pathlib import Path

from multitudes.data.compression import uncompressed_stem, uncompressed_suffix
from multitudes.data.formats import FORMAT_SUFFIXES
from multitudes.errors import DataError

SPLITS = {
    "trn": ("trn", "train", "training"),
    "tst": ("tst", "test"),
    "dev": ("dev", "val", "valid", "validation"),
}


def split_of(name: str) -> str:
    """The usual name of a split: ``trn`` for ``train``; an unknown name is its own."""
    return next((split for split, names in SPLITS.items() if name.lower() in names), name)


def is_split_file(path: Path) -> bool:
    """Whether a file is named after one of the usual splits."""
    return split_of(uncompressed_stem(path)) in SPLITS


def split_files(folder: Path) -> dict[str, list[Path]]:
    """The data files of a folder named after usual splits, by split."""
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.iterdir()):
        if uncompressed_suffix(file) in FORMAT_SUFFIXES and file.is_file() and is_split_file(file):
            found.setdefault(split_of(uncompressed_stem(file)), []).append(file)
    return found


def find_split(folder: Path, split: str) -> Path:
    """The one file of a split; none or several are an error that says what there is."""
    wanted = split_of(split)
    files = [
        file
        for file in sorted(folder.iterdir())
        if file.is_file()
        and uncompressed_suffix(file) in FORMAT_SUFFIXES
        and split_of(uncompressed_stem(file)) == wanted
    ]
    if len(files) == 1:
        return files[0]
    if files:
        names = ", ".join(file.name for file in files)
        raise DataError(
            f"{folder} has several files for the split {split!r} (got {names}); expected one: "
            "name the file itself"
        )
    present = ", ".join(split_files(folder)) or "none"
    raise DataError(
        f"{folder} has no file for the split {split!r} (it has: {present}); expected e.g. "
        f"{wanted}.jsonl: set split, or name the file itself"
    )
