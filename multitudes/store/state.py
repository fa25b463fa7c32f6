"""What a storable object hands to the store: settings, arrays, strings, parts, foreign files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy.typing as npt

# A folder that exists, or a function that fills an empty one; see `multitudes.store.folders`.
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
    """

    kind: str
    config: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    strings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    parts: Mapping[str, State] = field(default_factory=dict)
    folders: Mapping[str, FolderSource] = field(default_factory=dict)


@runtime_checkable
class Storable(Protocol):
    """An object that can become a `State` and come back from one."""

    def to_state(self) -> State:
        """All that is needed to build this object again."""

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the object; arrays may be read-only memory maps."""
