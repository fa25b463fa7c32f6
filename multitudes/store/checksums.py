"""Whether files are those that were saved: a fast checksum for accidents, SHA-256 for certainty.

xxh3_64 finds every kind of damage that happens by itself and takes a fraction of the time of
SHA-256. Neither says who made a model: whoever changes a file can write its new checksum into the
manifest, which is why the contents are checked as well (`multitudes.store.checking`). Files are
read in pieces, not mapped: one that is cut meanwhile is an error and not the end of the process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from multitudes.errors import StoreError
from multitudes.kernels.threads import ThreadTeam
from multitudes.store.files import damaged, dump_arrays
from multitudes.store.opening import open_file

FAST, CERTAIN = "xxh3_64", "sha256"
_PIECE = 1 << 20


@dataclass(frozen=True)
class FileEntry:
    """Size and checksums of one file; models saved before format 2 have no fast one."""

    n_bytes: int
    sha256: str
    xxh3_64: str | None = None

    def expected(self, *, certain: bool) -> tuple[str, str]:
        """Return the checksum to compare, as (algorithm, value)."""
        if certain or self.xxh3_64 is None:
            return CERTAIN, self.sha256
        return FAST, self.xxh3_64


def entries_of(folder: Path, names: Iterable[str]) -> dict[str, FileEntry]:
    """Return size and checksums of files, by their paths relative to a folder."""

    def entry(name: str) -> FileEntry:
        with open_file(folder / name) as file:
            digests = _digests(file, (FAST, CERTAIN))
            return FileEntry(file.tell(), digests[CERTAIN], digests[FAST])

    names = list(names)
    with ThreadTeam() as team:
        return dict(zip(names, team.map(entry, names), strict=True))


def entry_of_arrays(parts: Sequence[Mapping[str, npt.NDArray[Any]]]) -> FileEntry:
    """Return size and checksums of the file that `dump_arrays` makes of the same arrays."""
    digested = _Digested()
    dump_arrays(cast(BinaryIO, digested), parts)
    found = digested.digests
    return FileEntry(digested.n_bytes, found[CERTAIN].hexdigest(), found[FAST].hexdigest())


class _Digested:
    """A file that keeps nothing of what is written to it but checksums."""

    def __init__(self) -> None:
        self.digests = {name: _new(name) for name in (FAST, CERTAIN)}
        self.n_bytes = 0

    def write(self, content: Any) -> None:
        for digest in self.digests.values():
            digest.update(content)
        self.n_bytes += memoryview(content).nbytes


def check_files(folder: Path, files: Mapping[str, FileEntry], *, certain: bool) -> None:
    """Compare the checksum of each file, all files at the same time.

    Raises
    ------
    StoreError
        If one differs; the message names the file.
    """

    def check_one(name: str) -> None:
        algorithm, value = files[name].expected(certain=certain)
        with open_file(folder / name) as file:
            found = _digests(file, (algorithm,))[algorithm]
            _compare(folder / name, files[name], file.tell(), algorithm, found, value)

    longest_first = sorted(files, key=lambda name: -files[name].n_bytes)
    with ThreadTeam() as team:
        team.map(check_one, longest_first)


def read_checked(path: Path, entry: FileEntry, *, certain: bool) -> npt.NDArray[np.uint8]:
    """Return the content of a file in private memory, its checksum compared on the way."""
    algorithm, value = entry.expected(certain=certain)
    content = np.empty(entry.n_bytes, np.uint8)
    view, digest, end = content.data, _new(algorithm), 0
    with open_file(path) as file:
        while end < len(view) and (n := _readinto(file, path, view[end : end + _PIECE])):
            digest.update(view[end : end + n])
            end += n
        end += len(file.read(1))
    _compare(path, entry, end, algorithm, digest.hexdigest(), value)
    return content


def _compare(
    path: Path, entry: FileEntry, n_bytes: int, algorithm: str, found: str, expected: str
) -> None:
    if n_bytes != entry.n_bytes:
        raise damaged(path, f"it has {n_bytes} bytes, the manifest says {entry.n_bytes}")
    if found != expected:
        name = "SHA-256" if algorithm == CERTAIN else algorithm
        raise damaged(path, f"its {name} is not the one in the manifest")


def _digests(file: BinaryIO, algorithms: tuple[str, ...]) -> dict[str, str]:
    """Read a file to its end, once, and return its checksums."""
    digests = {name: _new(name) for name in algorithms}
    piece = memoryview(bytearray(_PIECE))
    while n := _readinto(file, Path(str(file.name)), piece):
        for digest in digests.values():
            digest.update(piece[:n])
    return {name: digest.hexdigest() for name, digest in digests.items()}


def _readinto(file: BinaryIO, path: Path, piece: memoryview) -> int:
    try:
        return int(file.readinto(piece))  # type: ignore[attr-defined]
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error}; restore a copy") from error


def _new(algorithm: str) -> Any:
    if algorithm == CERTAIN:
        return hashlib.sha256()
    import xxhash

    return xxhash.xxh3_64()
