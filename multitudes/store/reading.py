"""The files of a model to a `State`: which are there, which are whole, and what they hold.

Arrays are mapped, or read into memory of this process; files in another library's layout are given
to it where they lie, or as a private copy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from multitudes.errors import StoreError
from multitudes.files import disk
from multitudes.kernels.threads import ThreadTeam
from multitudes.memory import ask
from multitudes.store import remembered
from multitudes.store.checking import is_all_ours
from multitudes.store.checksums import check_files, read_checked
from multitudes.store.files import AnyArray, arrays_of, damaged, map_arrays, read_strings
from multitudes.store.manifest import ARRAYS, Manifest, ObjectEntry
from multitudes.store.opening import files_below
from multitudes.store.state import FolderSource, State

Found = TypeVar("Found")


@dataclass(frozen=True)
class How:
    """What the caller of `load` asked for."""

    verify: bool
    in_memory: bool


class Reading:
    """One look at the data folder of a model.

    Parameters
    ----------
    data : Path
        The data folder that the manifest names.
    raw : bytes
        The manifest as it lies there.
    manifest : Manifest
    how : How
    """

    def __init__(self, data: Path, raw: bytes, manifest: Manifest, how: How) -> None:
        self.data, self.manifest, self.how = data, manifest, how
        # Not there at all: a model without files went through a tool that drops empty folders.
        empty = not manifest.files and not os.path.lexists(data)
        self._files = {} if empty else files_below(data)
        self._in_memory: dict[str, AnyArray] = {}
        check_sizes(data, manifest, self._files)
        self._key = remembered.key_of(raw, self._files)
        self.contents_known = self._known(remembered.CONTENTS)

    def state(self) -> State:
        """Return the state in the folder, its files compared with their checksums."""
        files = dict(self.manifest.files)
        if self.how.in_memory:
            own = [name for name in self.manifest.root.file_names() if name.endswith(ARRAYS)]
            self._take(own)
            files = {name: entry for name, entry in files.items() if name not in self._in_memory}
        if not self.contents_known and not self._known(remembered.FILES):
            check_files(self.data, files, certain=self.how.verify)
        return self._state("", self.manifest.root)

    def checked(self, make: Callable[[State], Found]) -> Found:
        """Return what a function that checks the contents makes of the state; it names no path."""
        state = self.state()
        try:
            made = make(state)
        except StoreError as error:
            saved = f"saved by multitudes {self.manifest.library_version}"
            raise StoreError(f"{self.data.parent}, {saved}: {error}") from error
        self.finish(remembered.CONTENTS if is_all_ours(state) else remembered.FILES)
        return made

    def finish(self, what: str) -> None:
        """Remember that this folder is whole, unless it changed while it was read.

        Raises
        ------
        StoreError
            If a file was changed in place. One that was replaced is still there for us.
        """
        for name, before in self._files.items():
            try:
                now = (self.data / name).lstat()
            except OSError:
                return  # somebody saved a new model
            if (now.st_dev, now.st_ino) != (before.st_dev, before.st_ino):
                return
            if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise damaged(self.data / name, "it was changed while it was loaded")
        if not self._known(what):
            remembered.remember(self._key, what)

    def _known(self, what: str) -> bool:
        return not self.how.verify and remembered.is_remembered(self._key, what)

    def _take(self, names: list[str]) -> None:
        """Read files of arrays into memory, compared with their checksums on the way."""
        entries = self.manifest.files
        ask(
            sum(entries[name].n_bytes for name in names),
            f"{self.data.parent}: its arrays, read into memory,",
            advice="load it without in_memory, which maps them instead",
        )
        with ThreadTeam() as team:
            contents = team.map(self._content, names)
        self._in_memory = dict(zip(names, contents, strict=True))

    def _content(self, name: str) -> AnyArray:
        entry = self.manifest.files[name]
        return read_checked(self.data / name, entry, certain=self.how.verify)

    def _state(self, place: str, entry: ObjectEntry) -> State:
        """Return the state of an object whose files lie at `place`, e.g. "model/tree/"."""
        folder = self.data / place
        return State(
            kind=entry.kind,
            config=dict(entry.config),
            arrays=self._arrays(place + ARRAYS, entry) if entry.arrays else {},
            strings={
                n: read_strings(folder / f"{n}.jsonl", count) for n, count in entry.strings.items()
            },
            parts={n: self._state(f"{place}{n}/", part) for n, part in entry.parts.items()},
            folders={name: self._folder(f"{place}{name}/") for name in entry.folders},
            version=entry.version,
        )

    def _arrays(self, name: str, entry: ObjectEntry) -> dict[str, AnyArray]:
        path, content = self.data / name, self._in_memory.get(name)
        found = map_arrays(path) if content is None else arrays_of(content, path)
        return checked_arrays(found, entry, path)

    def _folder(self, home: str) -> FolderSource:
        """Return a folder of foreign files: where it lies, or what writes a private copy of it.

        Other libraries map such files, and a copy nobody can cut.
        """
        if not self.how.in_memory:
            return self.data / home
        names = [name for name in self.manifest.files if name.startswith(home)]

        def copy(target: Path) -> None:
            for name in names:
                path = target / name.removeprefix(home)
                disk.make_folder(path.parent)
                with disk.new_file(path) as file:
                    file.write(self._content(name).data)

        return copy


def check_sizes(data: Path, manifest: Manifest, found: dict[str, os.stat_result]) -> None:
    """Check that every file is there and has its size, and that foreign folders have no others."""
    for name, entry in manifest.files.items():
        if name not in found:
            raise StoreError(
                f"{data / name} is missing: restore it from a copy, or save the model again"
            )
        if found[name].st_size != entry.n_bytes:
            size = found[name].st_size
            raise damaged(data / name, f"it has {size} bytes, the manifest says {entry.n_bytes}")
    # Another library reads these folders, and might follow a file that somebody added.
    homes = tuple(manifest.root.foreign_folders())
    stray = [name for name in found.keys() - manifest.files.keys() if name.startswith(homes)]
    if homes and stray:
        raise damaged(data / min(stray), "it is not in the manifest")


def checked_arrays(
    found: dict[str, AnyArray], entry: ObjectEntry, path: Path
) -> dict[str, AnyArray]:
    """Return the arrays of a file in the manifest's order, if they are those of the manifest."""
    if found.keys() != entry.arrays.keys():
        stray = sorted(found.keys() ^ entry.arrays.keys())
        raise damaged(path, f"it and the manifest disagree about the arrays {stray}")
    for name, expected in entry.arrays.items():
        array = found[name]
        if array.dtype != np.dtype(expected.dtype) or array.shape != expected.shape:
            raise damaged(
                path,
                f"array {name!r} is {array.dtype} {array.shape}, the manifest says "
                f"{expected.dtype} {expected.shape}",
            )
    return {name: found[name] for name in entry.arrays}
