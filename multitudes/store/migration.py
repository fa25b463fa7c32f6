"""State to object: bring what was stored up to the version of its class, then build it.

This is the one place where stored settings meet a class that may have changed since.
"""

from __future__ import annotations

import re
from dataclasses import replace

from multitudes.errors import MultitudesError, StoreError
from multitudes.store.registry import class_of
from multitudes.store.state import State, Storable, Versioned

# How Python says that a constructor was called with the wrong settings.
_UNKNOWN = re.compile(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")
_MISSING = re.compile(r"(\w+)\.__init__\(\) missing \d+ required [\w-]+ arguments?: (.+)")
_ADVICE = "load it with the version it was saved with, or train again"


def build(state: State) -> object:
    """Build the object that a `State` describes; composite objects call it on their parts.

    Raises
    ------
    StoreError
        If the kind is unknown, its contents are newer than its class, or they do not fit it.
    """
    cls = class_of(state.kind)
    state = migrated(state)
    try:
        return cls.from_state(state)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StoreError(
            f"{cls.__name__} (kind {state.kind!r}) could not be rebuilt from what was stored: "
            f"{_problem(error)}; {_ADVICE}"
        ) from error


def migrated(state: State) -> State:
    """Return a state whose parts and itself have the versions of their classes.

    A part whose kind has no class belongs to the class around it, which migrates it.
    """
    state = replace(state, parts={name: migrated(part) for name, part in state.parts.items()})
    cls = _known_class(state.kind)
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
    cls = _known_class(kind)
    return 1 if cls is None else _version_of(cls)


def _version_of(cls: type[Storable]) -> int:
    return int(getattr(cls, "state_version", 1))


def _known_class(kind: str) -> type[Storable] | None:
    try:
        return class_of(kind)
    except StoreError:
        return None


def _problem(error: Exception) -> str:
    """Return what does not fit, with the name of the setting if the error has it."""
    if unknown := _UNKNOWN.search(str(error)):
        return f"{unknown[1]} has no setting {unknown[2]!r}"
    if missing := _MISSING.search(str(error)):
        return f"{missing[1]} needs the setting {missing[2]}, which is not there"
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is not there"
    return str(error) if isinstance(error, MultitudesError) else repr(error)
