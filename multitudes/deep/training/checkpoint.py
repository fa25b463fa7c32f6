"""Checkpoint: the state of a run on disk, a model folder of the store replaced in one step."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.deep.training.state_dicts import pack_state, unpack_state
from multitudes.errors import ConfigError
from multitudes.files import disk
from multitudes.store import State, read_state, save
from multitudes.store.folder import discard
from multitudes.store.manifest import plain_json

KIND = "training-checkpoint"
CURRENT = "checkpoint"
DIVERGED = "diverged"
_SHOWN = 5  # differences named in a refusal


@dataclass(frozen=True)
class Checkpoint:
    """A folder that keeps one run, so that it can be resumed after it was stopped or killed.

    Parameters
    ----------
    folder : path
        Created if needed. A later run with the same folder goes on where this one stopped.
    identity : mapping
        What the result depends on besides the model's shape and the training settings, as plain
        values: other settings, a digest of the data. A run with another identity is refused.
    """

    folder: str | PathLike[str]
    identity: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)

    def write(self, parts: Mapping[str, Mapping[str, Any]], *, name: str = CURRENT) -> None:
        """Save nested state dicts; what was there before is replaced in one step, or stays."""
        state = State(
            KIND,
            config={"identity": _plain(self.identity)},
            parts={part: pack_state("training-part", values) for part, values in parts.items()},
        )
        save(state, self.path / name)

    def read(self) -> dict[str, dict[str, Any]] | None:
        """What was saved last; None if there is nothing yet.

        Raises
        ------
        ConfigError
            If it belongs to a run with another identity; the message names what differs.
        StoreError
            If it is damaged.
        """
        if not self.exists():
            return None
        state = read_state(self.path / CURRENT, verify=True)
        there, here = dict(_flat(state.config["identity"])), dict(_flat(_plain(self.identity)))
        if there != here:
            raise ConfigError(_refusal(self.path, there, here))
        return {name: unpack_state(part) for name, part in state.parts.items()}

    def exists(self) -> bool:
        """Whether a run can be resumed from here."""
        return (self.path / CURRENT).exists()

    def clear(self) -> None:
        """Remove what was saved: the run is over and its result is stored elsewhere."""
        for name in (CURRENT, DIVERGED):
            discard(self.path / name)
        with suppress(OSError):  # missing, or it holds something else
            disk.current().rmdir(self.path)


def digest_of(*arrays: npt.NDArray[Any]) -> str:
    """32 hex digits that change with any value; integers of any width count the same."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        kind = np.int64 if array.dtype.kind in "iu" else array.dtype
        digest.update(np.ascontiguousarray(array, kind).data)
    return digest.hexdigest()


def _plain(values: Mapping[str, Any]) -> Any:
    """The values as JSON gives them back."""
    return json.loads(json.dumps(plain_json(values, "identity")))


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of each nested value."""
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, own in value.items():
        yield from _flat(own, f"{name}.{key}" if name else key)


def _refusal(folder: Path, there: dict[str, Any], here: dict[str, Any]) -> str:
    absent = "nothing"
    differing = [
        f"{name} ({there.get(name, absent)!r} there, {here.get(name, absent)!r} now)"
        for name in sorted(there.keys() | here.keys())
        if there.get(name, absent) != here.get(name, absent)
    ]
    more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
    return (
        f"{folder} holds a run with other settings or data, which cannot be resumed: "
        f"{', '.join(differing[:_SHOWN])}{more}; train with what it was begun with, choose "
        "another folder, or remove it to begin again"
    )
