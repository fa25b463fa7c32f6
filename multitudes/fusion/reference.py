"""A reference to the folder of a fitted tagger, in place of a copy of it.

An ensemble may hold its members, or name the folders they lie in. A reference is a path and the
SHA-256 of the manifest there, which in turn has a checksum of every file: an ensemble that refers
to a model uses exactly that model, or says that it is not there any more. A folder cannot refer to
itself, since its own checksum would be part of what it is computed from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from multitudes.errors import StoreError
from multitudes.store import load
from multitudes.store.loading import read_manifest_bytes

LENGTH = 64  # hexadecimal digits of a SHA-256
LONGEST = 4096  # characters of a path


@dataclass(frozen=True)
class Reference:
    """Where a member lies.

    Parameters
    ----------
    folder : str
        Absolute path of the model folder.
    manifest : str
        SHA-256 of its manifest.
    """

    folder: str
    manifest: str

    @classmethod
    def of(cls, folder: str | PathLike[str]) -> Reference:
        """Refer to the model that a folder holds now."""
        path = Path(folder).resolve()
        return cls(str(path), _digest(path))

    @classmethod
    def checked(cls, stored: Any) -> Reference:
        """Return a reference as it was stored, or raise a StoreError."""
        is_known = isinstance(stored, Mapping) and set(stored) == {"folder", "manifest"}
        if not is_known or not all(isinstance(one, str) for one in stored.values()):
            raise StoreError(f"a reference must have a folder and a manifest, got {stored!r:.60}")
        folder, manifest = stored["folder"], stored["manifest"]
        if len(folder) > LONGEST or "\0" in folder or not Path(folder).is_absolute():
            raise StoreError(f"a reference must have an absolute path, got {folder!r:.60}")
        if len(manifest) != LENGTH or set(manifest) - set("0123456789abcdef"):
            raise StoreError(f"a reference must have a SHA-256, got {manifest!r:.60}")
        return cls(folder, manifest)

    def to_dict(self) -> dict[str, str]:
        """Return what is stored."""
        return {"folder": self.folder, "manifest": self.manifest}

    def check(self) -> None:
        """Raise a StoreError unless the folder still holds what is referred to."""
        path = Path(self.folder)
        try:
            found = _digest(path)
        except StoreError as error:
            raise StoreError(
                f"it refers to the model {path}, which cannot be read ({error}): put it back, or "
                "fuse again"
            ) from error
        if found != self.manifest:
            raise StoreError(
                f"it refers to the model {path}, which has been replaced by another one since: "
                "put the old one back, or fuse again"
            )

    def load(self) -> Any:
        """Return the tagger that is referred to; how it is read follows the load around it."""
        self.check()
        tagger = load(self.folder)
        self.check()  # it was not replaced meanwhile
        if not hasattr(tagger, "model_") or not hasattr(tagger, "classes_"):
            raise StoreError(
                f"it refers to {self.folder}, which holds a {type(tagger).__name__} and no tagger"
            )
        return tagger


def _digest(folder: Path) -> str:
    return hashlib.sha256(read_manifest_bytes(folder)).hexdigest()
