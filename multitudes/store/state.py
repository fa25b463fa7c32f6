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

A class whose arrays are used without further checks, by compiled code above all, says what must
hold::

        @classmethod
        def check_state(cls, state: State) -> None:
            '''Every child is a cluster or a label.'''
            if in_range(state.arrays["child"], 0, state.config["n_labels"]) >= 0:
                raise StoreError("a child is not a label")

It is called after migration and before `from_state`, which may trust what was checked. The store
adds to its message which folder and part it is about, and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

import numpy.typing as npt

from multitudes.store.checksums import FileEntry

# A folder that exists, or a function that fills an empty one; see `multitudes.store.foreign`.
FolderSource: TypeAlias = Path | Callable[[Path], None]


class StoredArrays(NamedTuple):
    """A file of arrays as the store writes them, and its checksums."""

    path: Path
    entry: FileEntry


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
    # Where it lies in a model that was checked, such as "model/tree"; None before. It is not an
    # argument, so that a changed copy (`dataclasses.replace`) counts as not checked.
    place: str | None = field(default=None, init=False, repr=False, compare=False)

    # A file that holds `arrays` already. No argument either: it is not true of a changed copy.
    stored: StoredArrays | None = field(default=None, init=False, repr=False, compare=False)

    def note_stored(self, stored: StoredArrays) -> None:
        """Note that a file holds the arrays as the store writes them: it can be linked."""
        object.__setattr__(self, "stored", stored)

    def note_checked(self, place: str) -> None:
        """Note that this state was checked, as a part of a model that lies at `place` in it."""
        object.__setattr__(self, "place", place)


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


@runtime_checkable
class Checked(Protocol):
    """A storable class that says what must hold before an object is made of a state."""

    @classmethod
    def check_state(cls, state: State) -> None:
        """Raise a StoreError if arrays, strings, settings and parts do not fit each other.

        After it, no kernel may read or write out of bounds or run forever, whatever the arrays
        hold: names, dtypes, shapes against each other, counts and their sums, indices in range and
        ascending where that is relied on, finite values. Parts were checked before. Parts of kinds
        without a class are checked here. The message needs no path and no advice.
        """
