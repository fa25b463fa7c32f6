"""Finished levels on disk, so that a fit that was killed continues where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError, StoreError
from multitudes.files import disk
from multitudes.labels import LabelTree
from multitudes.linear.level_checks import check_level
from multitudes.linear.level_weights import LevelWeights
from multitudes.progress import say
from multitudes.stopping import shielded
from multitudes.store import Storable, load, save
from multitudes.store.folder import writing
from multitudes.store.manifest import MANIFEST

# Settings that do not change what is learned.
NOT_IN_RESULT = frozenset({"checkpoint", "memory_limit", "n_jobs", "verbose", "warm_start"})

_used: dict[Path, list[Checkpoint]] = {}  # by the path they were given


class Checkpoint:
    """The stages of one fit: the tree, then each level, each a model folder of its own.

    Stages lie in a sub-folder named after the data and the settings, so that another fit never
    picks them up. They stay when the fit is over, until `clear`: what is learned is not safe before
    the model is saved. Without a path nothing is kept.

    Parameters
    ----------
    path : path, optional
    fingerprint : str
        See `fingerprint`.
    """

    def __init__(self, path: str | Path | None, fingerprint: str) -> None:
        self.folder = None if path is None else Path(path) / f"fit-{fingerprint}"
        if self.folder is not None:
            try:
                home = self.folder.parent.resolve()
                if home.exists() and not home.is_dir():
                    raise ConfigError(f"checkpoint must be a folder, got {str(home)!r}, a file")
            except (OSError, ValueError) as error:  # too long, or with a null in it
                raise ConfigError(f"checkpoint must be a folder, got {path!r}: {error}") from error
            _used.setdefault(home, []).append(self)

    def held(self) -> AbstractContextManager[None]:
        """Hold the folder while a fit runs: a second one that wants to use it is refused."""
        return nullcontext() if self.folder is None else writing(self.folder.parent)

    def __bool__(self) -> bool:
        return self.folder is not None

    def tree(self) -> LabelTree | None:
        """Return the tree of an earlier fit, if it got that far."""
        found = self.stage("tree")
        return found if isinstance(found, LabelTree) else None

    def level(self, number: int, tree: LabelTree, n_features: int) -> LevelWeights | None:
        """Return a level of an earlier fit, if it got that far and the level fits the tree."""
        found = self.stage(f"level-{number}")
        if not isinstance(found, LevelWeights):
            return None
        try:
            check_level(found.to_state(), tree.offsets[number], n_features)
        except StoreError:
            return None
        return found

    def stage(self, name: str) -> object | None:
        """Return what an earlier fit kept under a name; None if it is missing or damaged."""
        if self.folder is None or not (self.folder / name).exists():
            return None
        try:
            return load(self.folder / name)
        except StoreError:
            return None  # it is trained again

    def keep(self, name: str, stage: Storable) -> None:
        """Write a finished stage."""
        if self.folder is not None:
            disk.make_folder(self.folder)
            save(stage, self.folder / name)

    def stages(self) -> list[str]:
        """Return the names of what an earlier fit kept, by the time they were kept."""
        if self.folder is None or not self.folder.is_dir():
            return []
        named = [path for path in self.folder.iterdir() if not path.name.startswith(".")]
        kept = [path for path in named if (path / MANIFEST).is_file()]
        return [path.name for path in sorted(kept, key=lambda path: path.stat().st_mtime_ns)]

    def announce(self) -> None:
        """Say what is taken over from an earlier fit."""
        names = [_in_words(name) for name in self.stages()]
        if names:
            say(f"going on from what is saved in {self.folder}: {', '.join(names)}")

    def clear(self) -> None:
        """Remove the stages: the model is stored elsewhere."""
        if self.folder is None or not self.folder.exists():
            return
        with shielded():  # Ctrl-C would leave half of it
            disk.remove(self.folder)
            with suppress(OSError):  # it holds something else
                disk.current().rmdir(self.folder.parent)


def clear_used(path: str | PathLike[str]) -> None:
    """Remove the stages of all fits of this process that kept theirs here, not those of others."""
    for checkpoint in _used.pop(Path(path).resolve(), []):
        checkpoint.clear()


def _in_words(stage: str) -> str:
    kind, _, number = stage.partition("-")
    what = {"tree": "the label tree", "level": "level", "trained": "tree"}.get(kind, kind)
    return f"{what} {int(number) + 1}" if number.isdigit() else what


def fingerprint(data: Sequence[Any], settings: dict[str, Any]) -> str:
    """Return 16 hex digits that change with the data or with any setting.

    Parameters
    ----------
    data : sequence of sparse matrices, arrays, LabelTrees and None
        All that a fit is given.
    settings : dict
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=repr).encode())
    for part in data:
        for array in _arrays_of(part):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        digest.update(b"/")
    return digest.hexdigest()[:16]


def _arrays_of(part: Any) -> list[npt.NDArray[Any]]:
    if part is None:
        return []
    if isinstance(part, LabelTree):
        return [*part.offsets, part.slot_labels]
    if hasattr(part, "tocsr"):
        rows = part.tocsr()
        return [np.array(rows.shape), rows.indptr, rows.indices, rows.data]
    return [np.asarray(part)]
