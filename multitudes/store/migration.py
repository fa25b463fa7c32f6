"""State to object: bring what was stored up to the version of its class, then build it.

This is the one place where stored settings meet a class that may have changed since.
"""

from __future__ import annotations

from dataclasses import replace

from multitudes.errors import StoreError
from multitudes.store.checking import check, foreign_errors, known_class, named
from multitudes.store.registry import class_of
from multitudes.store.state import State, Storable, Versioned

_ADVICE = "load it with the version it was saved with, or train again"


def build(state: State, *, trusted: bool = False) -> object:
    """Build the object that a `State` describes; composite objects call it on their parts.

    It is migrated and checked first, unless it is a part of a state for which that was done.

    Parameters
    ----------
    state : State
        What was stored.
    trusted : bool
        The state was checked before, when the same files were loaded: do not check it again.

    Raises
    ------
    StoreError
        If the kind is unknown, its contents are newer than its class, or they do not fit it.
    """
    cls = class_of(state.kind)
    state = checked(state, trusted=trusted)
    what = named(state.place or "", state.kind)
    sentence = f"{cls.__name__} ({what}) could not be rebuilt from what was stored"
    with foreign_errors(sentence, _ADVICE):
        return cls.from_state(state)


def checked(state: State, *, trusted: bool = False) -> State:
    """Return a state of the present version whose contents were checked; see `build`."""
    if state.place is None:
        with foreign_errors(f"kind {state.kind!r} could not be migrated", _ADVICE):
            state = migrated(state)
        check(state, trusted=trusted)
    return state


def migrated(state: State) -> State:
    """Return a state whose parts and itself have the versions of their classes.

    A part whose kind has no class belongs to the class around it, which migrates it.
    """
    state = replace(state, parts={name: migrated(part) for name, part in state.parts.items()})
    cls = known_class(state.kind)
    if cls is None or state.version is None:
        return state
    newest = _version_of(cls)
    if state.version > newest:
        package = cls.__module__.partition(".")[0]
        raise StoreError(
            f"kind {state.kind!r} was stored in version {state.version}, and {package} "
            f"reads it up to version {newest}: run  pip install --upgrade {package}"
        )
    while state.version is not None and state.version < newest:
        newer = cls.migrate_state(state) if isinstance(cls, Versioned) else state
        if newer.version is not None and not state.version < newer.version <= newest:
            raise StoreError(
                f"{cls.__name__} does not migrate {state.kind!r} from version {state.version} to "
                f"{newest}: its migrate_state gave version {newer.version}; {_ADVICE}"
            )
        state = newer
    return state


def current_version(kind: str) -> int:
    """Return the version in which a kind is stored now; 1 if its class does not say."""
    cls = known_class(kind)
    return 1 if cls is None else _version_of(cls)


def _version_of(cls: type[Storable]) -> int:
    return int(getattr(cls, "state_version", 1))
