"""manifest.json: what a model folder must hold, down to shapes, sizes and SHA-256.

::

    {"format": "multitudes-model", "format_version": 2, "library_version": "0.1.0",
     "data": "data-5f0c...",                  the sub-folder that holds the files below
     "files": {"model/arrays.safetensors": {"bytes": 1234, "sha256": "...",
                                            "xxh3_64": "..."}},   since format 2
     "object": {"kind": "tagger", "version": 1, "config": {}, "arrays": {},
                "strings": {"labels": 159}, "parts": {"model": {...}}, "folders": ["encoder"]},
     "checksum": "..."}                       SHA-256 of all of the above

File names follow from the names of parts, or lie below a folder of foreign files and are checked,
so a manifest cannot point outside its folder. `format_version` is the layout of this file; the
`version` of an object is the layout of what its kind stores, see `multitudes.store.state`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from multitudes.errors import StoreError
from multitudes.store import strict_json
from multitudes.store.checksums import FileEntry
from multitudes.store.files import DTYPES
from multitudes.version import __version__

FORMAT = "multitudes-model"
FORMAT_VERSION = 2
MANIFEST = "manifest.json"
ARRAYS = "arrays.safetensors"
MAX_DEPTH = 16

# Lower case alone, because some file systems do not tell "A" from "a".
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_FOREIGN_FILE = re.compile(r"\w[\w.-]{0,199}(/\w[\w.-]{0,199}){0,9}", re.ASCII)
_DEVICE = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9])(\..*)?", re.IGNORECASE)  # of Windows
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]{0,99}")
_DATA_FOLDER = re.compile(r"data-[0-9a-f]{16}")
_HEX = re.compile(r"[0-9a-f]{1,64}")
_DTYPE_NAMES = {dtype.name for dtype in DTYPES.values()}


@dataclass(frozen=True)
class ArrayEntry:
    """The dtype (numpy's name) and shape of one array."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ObjectEntry:
    """One object of a model: its kind and settings, what it stores and what it is made of."""

    kind: str
    config: Mapping[str, Any]
    arrays: Mapping[str, ArrayEntry]
    strings: Mapping[str, int]
    parts: Mapping[str, ObjectEntry]
    folders: tuple[str, ...] = ()
    version: int = 1

    def walk(self, folder: str = "") -> Iterator[tuple[str, ObjectEntry]]:
        """Yield (sub-folder, object) of this object and all its parts."""
        yield folder, self
        for name, part in self.parts.items():
            yield from part.walk(f"{folder}{name}/")

    def file_names(self) -> set[str]:
        """Return the files of the object and its parts, relative to the data folder."""
        names: set[str] = set()
        for folder, entry in self.walk():
            names.update(f"{folder}{name}.jsonl" for name in entry.strings)
            if entry.arrays:
                names.add(folder + ARRAYS)
        return names

    def foreign_folders(self) -> list[str]:
        """Return the folders of foreign files, relative to the data folder, ending in a slash."""
        return [f"{folder}{name}/" for folder, entry in self.walk() for name in entry.folders]


@dataclass(frozen=True)
class Manifest:
    """What is known about a model folder before its arrays are opened."""

    data_folder: str
    files: Mapping[str, FileEntry]
    root: ObjectEntry
    library_version: str = __version__

    def to_bytes(self) -> bytes:
        """Return the file's content: indented JSON with a checksum over itself."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "library_version": self.library_version,
            "data": self.data_folder,
            "files": {
                name: {"bytes": entry.n_bytes, "sha256": entry.sha256, "xxh3_64": entry.xxh3_64}
                for name, entry in sorted(self.files.items())
            },
            "object": _object_to_json(self.root),
        }
        return json.dumps({**content, "checksum": _checksum(content)}, indent=1).encode() + b"\n"

    @classmethod
    def from_bytes(cls, raw: bytes, where: str) -> Self:
        """Parse and check a manifest; `where` is the path for messages."""
        content = _checked_content(raw, where)
        try:
            manifest = cls(
                data_folder=_matching(content["data"], _DATA_FOLDER),
                files={
                    name: _file_entry(entry, format_version=content["format_version"])
                    for name, entry in content["files"].items()
                },
                root=_object_from_json(content["object"], depth=0),
                library_version=_matching(content["library_version"], _VERSION),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(f"{where} is not a valid manifest: {error!r}; {_ADVICE}") from error
        homes = set(manifest.root.foreign_folders())
        own = {name for name in manifest.files if not _is_foreign(name, homes)}
        if manifest.root.file_names() != own:
            stray = sorted(manifest.root.file_names() ^ own)
            raise StoreError(f"{where} disagrees with itself about the files {stray}; {_ADVICE}")
        return manifest


_ADVICE = "save the model again or restore a copy"


def check_name(name: str, what: str) -> None:
    """Refuse names that could not be a file name everywhere; `what` says whose name it is."""
    if not _NAME.fullmatch(name) or _DEVICE.fullmatch(name):
        raise StoreError(f"{what} must be named with a-z, 0-9, _ and -, got {name!r}")


def check_foreign_file(name: str, folder: str) -> None:
    """Refuse the path of a foreign file that could not be a path everywhere."""
    if not _is_foreign_name(name):
        raise StoreError(
            f"a file in {folder} must be named with letters, digits, _, - and ., got {name!r}"
        )


def _is_foreign(file: str, homes: set[str]) -> bool:
    """Return whether a file lies in one of the folders of foreign files, under a good name."""
    parts = file.split("/")
    places = ["/".join(parts[:i]) + "/" for i in range(1, min(len(parts), MAX_DEPTH + 2))]
    home = next((place for place in places if place in homes), None)
    return home is not None and _is_foreign_name(file.removeprefix(home))


def _is_foreign_name(name: str) -> bool:
    bad = any(part.endswith(".") or _DEVICE.fullmatch(part) for part in name.split("/"))
    return not bad and _FOREIGN_FILE.fullmatch(name) is not None


def plain_json(value: Any, where: str) -> Any:
    """Return a setting as JSON values: numpy scalars as numbers, tuples as lists."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, int) and not strict_json.fits(value):
        raise StoreError(
            f"setting {where} cannot be stored: it has {value.bit_length():,} bits, allowed are 128"
        )
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain_json(item, where) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain_json(item, f"{where}.{key}") for key, item in value.items()}
    raise StoreError(
        f"setting {where} cannot be stored: got {type(value).__name__} {value!r}; allowed are "
        "None, bool, int, float, str, and lists and str-keyed mappings of them"
    )


def _checked_content(raw: bytes, where: str) -> dict[str, Any]:
    """Return the JSON object of a manifest; refuse other files, newer formats and edits."""
    try:
        content = strict_json.parse(raw)
    except ValueError as error:
        raise StoreError(f"{where} is not JSON: {error}; {_ADVICE}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StoreError(f"{where} is not the manifest of a multitudes model")
    version = content.get("format_version")
    if not isinstance(version, int) or version < 1:
        raise StoreError(f"{where} has format_version {version!r}, expected a number; {_ADVICE}")
    if version > FORMAT_VERSION:
        raise StoreError(
            f"{where} was saved in format {version} by multitudes "
            f"{_shown(content.get('library_version'))}; this is {__version__}, which reads up to "
            f"format {FORMAT_VERSION}: run  pip install --upgrade multitudes"
        )
    if content.pop("checksum", None) != _checksum(content):
        raise StoreError(
            f"{where} was changed after the model was saved (its checksum does not match); "
            "settings cannot be edited in place: train again, or restore a copy"
        )
    return content


def _shown(version: Any) -> str:
    return version if isinstance(version, str) and _VERSION.fullmatch(version) else "(unknown)"


def _checksum(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _file_entry(content: Mapping[str, Any], *, format_version: int) -> FileEntry:
    fast = None if format_version < 2 else _matching(content["xxh3_64"], _HEX)
    return FileEntry(_count(content["bytes"]), _matching(content["sha256"], _HEX), fast)


def _object_to_json(entry: ObjectEntry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "version": entry.version,
        "config": entry.config,
        "arrays": {n: {"dtype": a.dtype, "shape": list(a.shape)} for n, a in entry.arrays.items()},
        "strings": dict(entry.strings),
        "parts": {name: _object_to_json(part) for name, part in entry.parts.items()},
        "folders": list(entry.folders),
    }


def _object_from_json(content: Mapping[str, Any], depth: int) -> ObjectEntry:
    if depth > MAX_DEPTH:
        raise ValueError(f"parts nested more than {MAX_DEPTH} deep")
    arrays = {}
    for name, entry in content["arrays"].items():
        if entry["dtype"] not in _DTYPE_NAMES:
            raise ValueError(f"array {name!r} has unknown dtype {entry['dtype']!r}")
        arrays[name] = ArrayEntry(entry["dtype"], tuple(_count(n) for n in entry["shape"]))
    config = content["config"]
    if not isinstance(config, dict) or not isinstance(content["kind"], str):
        raise TypeError("kind must be a string and config an object")
    if set(content["parts"]) & set(content["folders"]):
        raise ValueError("a part and a folder have the same name")
    return ObjectEntry(
        kind=content["kind"],
        config=config,
        arrays=arrays,
        strings={_matching(n, _NAME): _count(c) for n, c in content["strings"].items()},
        parts={
            _matching(name, _NAME): _object_from_json(part, depth + 1)
            for name, part in content["parts"].items()
        },
        folders=tuple(_matching(name, _NAME) for name in content["folders"]),
        version=_count(content["version"]),
    )


def _matching(value: Any, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value) or _DEVICE.fullmatch(value):
        raise ValueError(f"{value!r} is not an allowed name")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value
