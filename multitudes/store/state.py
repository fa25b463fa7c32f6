"""What a storable object hands to the store: settings, arrays, strings, parts, foreign files.

What a class stores may change from one version of it to the next. Such a class says so::

    class Ranker:
        state_version = 2

        @classmethod
        def migrate_state(cls, state: State) -> State:
            '''Rename `seed`, as it was called in version 1.'''
            config = dict(state.config)
            config["random_state"] = config.pop("seed")
            return replace(state, config=config, version=2)

The version is written beside each object. On load, `migrate_state` is called until the state has
the version of the class, parts before the object they belong to, so that `from_state` knows only
the present layout. A state that is newer than its class is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy.typing as npt

# A folder that exists, or a function that fills an empty one; see `multitudes.store.foreign`.
FolderSource: TypeAlias = Path | Callable[[Path], None]


@dataclass(frozen=True)
class State:
    """Everything an object needs to be built again.

    Parameters
    ----------
    kind : str
        The registered name of the class, e.g. ``"xr-linear"``; see `multitudes.store.registry`.
    config : mapping
        Settings as JSON values.
    arrays : mapping of name to array
        Learned arrays, written as safetensors and memory-mapped on load.
    strings : mapping of name to sequence of str
        Vocabularies and label names, written one JSON string a line so that a person can read them.
    parts : mapping of name to State
        Objects this one is made of, each in a sub-folder of its own.
    folders : mapping of name to path or function
        Files in another library's layout, each set in a sub-folder of its own. A state that is
        saved may hold a function that writes them into a folder; one that was read holds paths.
    version : int, optional
        The version of the layout of all this, for this kind; defaults to that of the class. One
        that was read holds the version it was saved with.
    """

    kind: str
    config: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    strings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    parts: Mapping[str, State] = field(default_factory=dict)
    folders: Mapping[str, FolderSource] = field(default_factory=dict)
    version: int | None = None


@runtime_checkable
class Storable(Protocol):
    """An object that can become a `State` and come back from one."""

    def to_state(self) -> State:
        """Return all that is needed to build this object again."""

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the object; arrays may be read-only memory maps."""


@runtime_checkable
class Versioned(Protocol):
    """A storable class whose stored contents have changed since its first version."""

    state_version: ClassVar[int]

    @classmethod
    def migrate_state(cls, state: State) -> State:
        """Return a state of an older version as one of a newer version, which it names."""
