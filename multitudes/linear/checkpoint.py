"""Finished levels on disk, so that a killed fit goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from multitudes.errors import StoreError
from multitudes.labels import LabelTree
from multitudes.linear.level_weights import LevelWeights
from multitudes.store import Storable, load, save
from multitudes.types import Sparse


class Checkpoint:
    """The stages of one fit: the tree, then each level, each a model folder of its own.

    Stages lie in a sub-folder named after the data and the settings, so that another fit never
    picks them up. Without a path nothing is kept.

    Parameters
    ----------
    path : path, optional
    fingerprint : str
        See `fingerprint`.
    """

    def __init__(self, path: str | Path | None, fingerprint: str) -> None:
        self.folder = None if path is None else Path(path) / f"fit-{fingerprint}"

    def __bool__(self) -> bool:
        return self.folder is not None

    def tree(self) -> LabelTree | None:
        """The tree of an earlier try, if it got that far."""
        found = self._load("tree")
        return found if isinstance(found, LabelTree) else None

    def level(self, number: int) -> LevelWeights | None:
        """A level of an earlier try, if it got that far."""
        found = self._load(f"level-{number}")
        return found if isinstance(found, LevelWeights) else None

    def keep(self, name: str, stage: Storable) -> None:
        """Write a finished stage."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            save(stage, self.folder / name)

    def clear(self) -> None:
        """The fit is over: its stages are not needed any more."""
        if self.folder is not None and self.folder.exists():
            shutil.rmtree(self.folder)

    def _load(self, name: str) -> object | None:
        if self.folder is None or not (self.folder / name).exists():
            return None
        try:
            return load(self.folder / name)
        except StoreError:
            return None  # a damaged stage is trained again


def fingerprint(X: Sparse, Y: Sparse, settings: dict[str, Any]) -> str:
    """16 hex digits that change with the data or with any setting."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=repr).encode())
    for matrix in (X, Y):
        digest.update(repr(matrix.shape).encode())
        for array in (matrix.indptr, matrix.indices, matrix.data):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
