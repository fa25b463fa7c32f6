"""What lies in a folder of pieces.

    pieces.json       sizes, and where each piece ends; written last: then all is there
    X.indptr.npy      int64  (n_instances + 1,)    the CSR arrays of all pieces, one after the other
    X.indices.npy     int32
    X.data.npy        float32
    Y.indptr.npy      int64  (n_instances + 1,)    labels, all of value 1
    Y.indices.npy     int32

The arrays are those of the whole matrices: X and Y are two memory maps, a piece is a range of their
rows, and where pieces begin and end changes nothing that is learned. Several such folders, one a
machine, are the shards of a larger data set.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from multitudes.errors import StoreError

MANIFEST = "pieces.json"
FORMAT, VERSION = "multitudes-pieces", 1
ARRAYS = {
    "X.indptr": "int64",
    "X.indices": "int32",
    "X.data": "float32",
    "Y.indptr": "int64",
    "Y.indices": "int32",
}


def array_path(folder: Path, name: str) -> Path:
    """Return where an array lies."""
    return folder / f"{name}.npy"


@dataclass(frozen=True)
class Layout:
    """The manifest: columns of X and Y, and the instance before which each piece ends."""

    n_features: int
    n_labels: int
    ends: tuple[int, ...]

    def to_bytes(self) -> bytes:
        """Return it as JSON."""
        about = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return (json.dumps(about, indent=1) + "\n").encode()

    @classmethod
    def read(cls, folder: Path) -> Layout:
        """Read the manifest of a folder, checked."""
        path = folder / MANIFEST
        try:
            about = json.loads(path.read_bytes())
        except FileNotFoundError as error:
            raise StoreError(
                f"{folder} is not a folder of pieces, or was never finished: it has no {MANIFEST}"
            ) from error
        except (OSError, ValueError) as error:
            raise StoreError(f"{path} cannot be read ({error}): write the pieces again") from error
        known = isinstance(about, dict) and about.get("format") == FORMAT
        if not known or about.get("version") != VERSION:
            raise StoreError(f"{path} is not a manifest of pieces that this version knows")
        sizes = [about.get("n_features"), about.get("n_labels")]
        ends = about.get("ends")
        if not _rises([0, *ends] if isinstance(ends, list) else None) or not all(
            map(_whole, sizes)
        ):
            raise StoreError(f"{path} is damaged: write the pieces again")
        return cls(about["n_features"], about["n_labels"], tuple(ends))


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _rises(values: list[Any] | None) -> bool:
    if values is None or not all(map(_whole, values)):
        return False
    return all(a <= b for a, b in itertools.pairwise(values))
