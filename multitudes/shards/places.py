"""Where shards lie: folders of this machine, or any URL that fsspec knows (s3://, gs://, hf://)."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from multitudes.data.pieces import is_pieces, open_pieces
from multitudes.errors import DataError, StoreError, require
from multitudes.files import disk
from multitudes.progress import say

_URL = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/+")  # two letters or more: C:/ is a drive
_OF_THIS_MACHINE = ("file", "local")
_GLOB = re.compile(r"[*?\[]")
PIECE_MARK = "#piece-"
"""Between a folder of `multitudes.data.pieces` and the number of one."""
SCRATCH = "MULTITUDES_SCRATCH"
"""Environment variable: the folder in which a machine keeps copies of what comes from URLs."""


def is_url(place: str | os.PathLike[str]) -> bool:
    """Return whether a place is a URL and not a path of this machine."""
    return _URL.match(str(place)) is not None


def as_place(place: str | os.PathLike[str]) -> str:
    """Return a place as text; a URL that went through `pathlib` has its second slash again."""
    text = str(place)
    if not is_url(text) or "://" in text:
        return text
    scheme, _, rest = text.partition(":/")
    return f"{scheme}://{'/' if scheme in _OF_THIS_MACHINE else ''}{rest}"


def names_shards(place: str | os.PathLike[str]) -> bool:
    """Return whether a place is a URL or a pattern, and so can only be read as shards."""
    return is_url(place) or (_GLOB.search(str(place)) is not None and not Path(place).exists())


def find_shards(places: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the files that paths, folders, patterns and URLs stand for, sorted by name each.

    Raises
    ------
    DataError
        If a place holds nothing, or cannot be looked at.
    """
    if isinstance(places, str | os.PathLike):
        places = [places]
    found = [file for place in places for file in _files_of(as_place(place))]
    if not found:
        raise DataError("there are no shards: name files, folders, patterns or URLs")
    return found


def _files_of(place: str) -> list[str]:
    if is_url(place):
        files = _files_of_url(place)
    elif _GLOB.search(place) and not Path(place).exists():
        root = Path(place).anchor
        found = Path(root).glob(str(Path(place).relative_to(root)))
        files = [str(name) for name in found if name.is_file()]
    elif is_pieces(place):
        n_pieces = len(open_pieces(place))
        return [f"{Path(place).absolute()}{PIECE_MARK}{i}" for i in range(n_pieces)]
    elif Path(place).is_dir():
        files = [str(file) for file in Path(place).iterdir() if file.is_file()]
    else:
        if not Path(place).is_file():
            raise DataError(f"the shard {place} does not exist: check the path")
        files = [place]
    files = sorted(file for file in files if not Path(file).name.startswith((".", "_")))
    if not files:
        raise DataError(f"{place} holds no file: check the path or the pattern")
    return [file if is_url(file) else str(Path(file).absolute()) for file in files]


def _files_of_url(url: str) -> list[str]:
    system, path = _system(url)
    try:
        if _GLOB.search(path):
            files = system.glob(path)
        elif system.isdir(path):
            files = [one["name"] for one in system.ls(path, detail=True) if one["type"] == "file"]
        else:
            files = [path]
    except Exception as error:  # each file system has its own
        raise _unreadable(url, error) from error
    return [system.unstrip_protocol(file) for file in files]


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    fsspec = require("fsspec", extra="ray")
    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError, OSError) as error:
        raise _unreadable(url, error) from error
    return system, path


def _unreadable(url: str, error: Exception) -> DataError:
    reason = str(error).strip().splitlines()
    return DataError(
        f"{url} cannot be read ({type(error).__name__}: {reason[0] if reason else 'no reason'}): "
        "check the address, the access rights, and that the package of its file system is "
        "installed on all machines"
    )


def scratch(machine: str = "") -> Path:
    """Return the folder in which this machine keeps copies, made if it is missing."""
    home = os.environ.get(SCRATCH)
    place = Path(home) if home else Path(tempfile.gettempdir()) / "multitudes-scratch"
    folder = place / (machine or _machine())
    disk.make_folder(folder)
    return folder


def _machine() -> str:
    """Return a name for this machine: one a Ray node, where there are several on a computer."""
    import sys

    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        return str(ray.get_runtime_context().get_node_id())[:12]
    return "here"


def local_copy(place: str, version: str | None = None) -> Path:
    """Return a file of this machine with what lies at a place; a URL is copied here once.

    Parameters
    ----------
    place : str
        A path, which is returned as it is, or a URL.
    version : str, optional
        What tells this file from one that was there before; by default its file system is asked.

    Raises
    ------
    DataError
        If it is missing or cannot be read.
    StoreError
        If there is no room for the copy.
    """
    if not is_url(place):
        return Path(place)
    system, path = _system(place)
    try:
        version = str(system.ukey(path)) if version is None else version
    except Exception as error:
        raise _unreadable(place, error) from error
    name = hashlib.sha256(f"{place} {version}".encode()).hexdigest()[:16]
    copy = scratch() / f"{name}-{place.rsplit('/', 1)[-1]}"  # its suffixes tell its format
    if copy.exists():
        return copy
    half = copy.with_name(f".{copy.name}.{os.getpid()}")
    try:
        system.get_file(path, str(half))
        disk.replace(half, copy)
    except Exception as error:
        half.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno == 28:
            raise StoreError(
                f"no room for a copy of {place} in {copy.parent}: name a folder on a larger disk "
                f"in the environment variable {SCRATCH}"
            ) from error
        raise _unreadable(place, error) from error
    return copy


def exists(place: str) -> bool:
    """Return whether a file is there."""
    if not is_url(place):
        return Path(place).is_file()
    system, path = _system(place)
    try:
        return bool(system.isfile(path))
    except Exception as error:
        raise _unreadable(place, error) from error


def remove(place: str | os.PathLike[str]) -> None:
    """Remove a folder with all that is in it, if it is there; what cannot be removed stays."""
    place = as_place(place)
    if not is_url(place):
        disk.remove(Path(place))
        return
    system, path = _system(place)
    try:
        if system.exists(path):
            system.rm(path, recursive=True)
    except Exception as error:  # noqa: BLE001  each file system has its own; the work is done
        say(f"{place} could not be removed ({error}): remove it by hand")


def put(file: Path, place: str) -> None:
    """Move a finished file to its place: it is there whole, or not at all."""
    try:
        if not is_url(place):
            disk.replace(file, Path(place))
            return
        system, path = _system(place)
        system.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        system.put_file(str(file), path)  # object stores show a file when it is complete
        file.unlink()
    except Exception as error:
        file.unlink(missing_ok=True)
        raise StoreError(
            f"could not write {place}: {error}; what was there is untouched"
        ) from error
