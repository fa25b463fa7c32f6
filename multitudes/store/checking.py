"""What a stored model holds is checked once, before any object is made of it.

A class says in `check_state` what must hold (see `multitudes.store.state.Checked`). All parts of a
model are checked before the first is built: what they are made of first, independent ones at the
same time. Whatever goes wrong on the way from a state to an object is a StoreError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from multitudes.errors import MissingExtraError, MultitudesError, ResourceError, StoreError
from multitudes.kernels.threads import ThreadTeam
from multitudes.store.registry import class_of
from multitudes.store.state import Checked, State, Storable

# How Python says that a constructor was called with the wrong settings.
_UNKNOWN = re.compile(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")
_MISSING = re.compile(r"(\w+)\.__init__\(\) missing \d+ required [\w-]+ arguments?: (.+)")
_ADVICE = "save the model again or restore a copy"


def check(state: State, *, trusted: bool = False) -> None:
    """Check a state of the present version and all its parts, and note where each one lies.

    With `trusted`, nothing is checked: this very state was, when its files were loaded before.

    Raises
    ------
    StoreError
        If a part does not hold what its class needs; the message names the part.
    """
    levels = _by_height(state)
    if not trusted:
        with ThreadTeam() as team:
            for level in levels:  # an owner may rely on its parts
                team.map(_check_one, level)
    for place, part in (entry for level in levels for entry in level):
        part.note_checked(place)


def known_class(kind: str) -> type[Storable] | None:
    """Return the class of a kind, or None for a part that belongs to the class around it."""
    try:
        return class_of(kind)
    except StoreError:
        return None


def is_all_ours(state: State) -> bool:
    """Return whether all classes of a model are of this library, whose version says what they do.

    What the class of another package has found can change with that package.
    """
    levels = _by_height(state)
    classes = [known_class(part.kind) for level in levels for _, part in level]
    return all(cls is None or cls.__module__.startswith("multitudes.") for cls in classes)


@contextmanager
def foreign_errors(sentence: str, advice: str, *, complete: bool = True) -> Iterator[None]:
    """Turn whatever arises inside into a StoreError: a sentence, the problem, what to do.

    Errors that say what is wrong with this machine, not with the model, are left alone, and so are
    StoreErrors if they are `complete`: if they say all that already.
    """
    try:
        yield
    except (MissingExtraError, ResourceError):
        raise
    except StoreError as error:
        if complete:
            raise
        raise StoreError(f"{sentence}: {error}; {advice}") from error
    except MemoryError as error:
        raise ResourceError(f"{sentence}: there is not enough memory ({error})") from error
    except BaseException as error:
        # Libraries written in Rust raise a BaseException of this name where they fail.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise StoreError(f"{sentence}: {problem_of(error)}; {advice}") from error


def problem_of(error: BaseException) -> str:
    """Return what an error says; of settings that do not fit, their names."""
    if isinstance(error, TypeError) and (unknown := _UNKNOWN.search(str(error))):
        return f"{unknown[1]} has no setting {unknown[2]!r}"
    if isinstance(error, TypeError) and (missing := _MISSING.search(str(error))):
        return f"{missing[1]} needs the setting {missing[2]}, which is not there"
    if isinstance(error, KeyError) and error.args:
        return f"{error.args[0]!r} is not there"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error) if isinstance(error, MultitudesError) else repr(error)


def named(place: str, kind: str) -> str:
    """Return how messages name a part: its place in the model, and its kind."""
    return f"part {place!r} of kind {kind!r}" if place else f"kind {kind!r}"


def _check_one(entry: tuple[str, State]) -> None:
    place, state = entry
    cls = known_class(state.kind)
    # Not issubclass, which keeps what it once found.
    check_state = getattr(cls, Checked.check_state.__name__, None)
    if check_state is None:
        return
    sentence = f"{named(place, state.kind)} is damaged"
    with foreign_errors(sentence, _ADVICE, complete=False):
        check_state(state)


def _by_height(state: State) -> list[list[tuple[str, State]]]:
    """Return (place, state) of a state and its parts: those without parts first, the root last."""
    levels: list[list[tuple[str, State]]] = []

    def height(place: str, part: State) -> int:
        inner = [height(f"{place}/{name}".lstrip("/"), p) for name, p in part.parts.items()]
        own = 1 + max(inner, default=-1)
        if own == len(levels):
            levels.append([])
        levels[own].append((place, part))
        return own

    height("", state)
    return levels
