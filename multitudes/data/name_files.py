"""Where names of labels and features are found: in files beside a file of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from multitudes.data.compression import SUFFIXES

LABEL_FILES = ("lbl.jsonl", "lbl.json")
FEATURE_FILES = ("features.txt",)


def find_beside(folder: Path, names: Sequence[str]) -> Path | None:
    """The first of the named files in a folder, compressed or not."""
    for name in names:
        for suffix in ("", *SUFFIXES):
            if (folder / (name + suffix)).is_file():
                return folder / (name + suffix)
    return None
