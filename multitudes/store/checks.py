"""What `check_state` is made of: one function for each thing that a stored object must hold.

A class that can be loaded says in `check_state` what its arrays and settings must be, so that
whatever a folder holds, `from_state` and all that is called later can trust them::

    @classmethod
    def check_state(cls, state: State) -> None:
        checks.names(state, arrays=("offsets", "items"), config=("n_items",))
        n_items = checks.count(state, "n_items", at_least=1)
        offsets = checks.array(state, "offsets", "int64", (None,))
        items = checks.array(state, "items", "int32", (None,))
        checks.starts(offsets, "offsets", len(items))
        checks.within(items, "items", n_items)

Each raises a StoreError that names what is wrong; the store adds the path and what to do. Arrays
are passed over once, by kernels that release the GIL and copy nothing.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from multitudes.config import Config
from multitudes.errors import MultitudesError, StoreError
from multitudes.store.state import State

__all__ = [
    "array",
    "as_part",
    "between",
    "choice",
    "count",
    "counts",
    "distinct",
    "finite",
    "flag",
    "names",
    "number",
    "numbered_parts",
    "numbers",
    "parameters",
    "part",
    "rising",
    "same",
    "settings",
    "starts",
    "within",
]

AnyArray = npt.NDArray[Any]
Settings = TypeVar("Settings", bound=Config)

LARGEST_ID = 2**31 - 1
"""Ids of labels, features and words are int32."""
LARGEST_WHOLE = 2**53
"""Whole numbers up to here are the same as int64 and as float64."""


def names(
    state: State,
    *,
    config: Collection[str] | None = None,
    arrays: Collection[str] = (),
    strings: Collection[str] = (),
    parts: Collection[str] = (),
    optional: Collection[str] = (),
) -> None:
    """Refuse a state that lacks a name, or has one that its class would not have written.

    Parameters
    ----------
    config : collection of str, optional
        Settings; by default they are not looked at.
    arrays, strings, parts : collections of str
    optional : collection of str
        Names of any of these that may be missing.
    """
    held: list[tuple[str, Collection[str], Collection[str]]] = [
        ("array", arrays, state.arrays),
        ("list of strings", strings, state.strings),
        ("part", parts, state.parts),
    ]
    if config is not None:
        held.append(("setting", config, state.config))
    for what, wanted, found in held:
        missing = sorted(set(wanted) - set(found) - set(optional))
        if missing:
            raise StoreError(f"the {what} {missing[0]!r} is not there")
        unknown = sorted(set(found) - set(wanted))
        if unknown:
            raise StoreError(f"{what} {unknown[0]!r} is not one that it has")


def array(
    state: State, name: str, dtypes: str | Collection[str], shape: Sequence[int | None]
) -> AnyArray:
    """Return an array of a state, of one of some dtypes and of a shape; None is any length."""
    if name not in state.arrays:
        raise StoreError(f"the array {name!r} is not there")
    found = state.arrays[name]
    allowed = (dtypes,) if isinstance(dtypes, str) else tuple(dtypes)
    if found.dtype.name not in allowed:
        raise StoreError(f"{name} must be {' or '.join(allowed)}, got {found.dtype}")
    fits = found.ndim == len(shape) and all(
        wanted is None or length == wanted
        for length, wanted in zip(found.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise StoreError(f"{name} must have the shape ({wanted}), got {found.shape}")
    return found


def within(values: AnyArray, name: str, n: int, *, low: int = 0) -> None:
    """Refuse a whole number that is not from `low` to n - 1."""
    from multitudes.kernels.checking import SOUND, first_outside

    at = first_outside(values, low, n)
    if at != SOUND:
        raise StoreError(f"{name} must be from {low} to {n - 1}, got {values.flat[at]} at {at}")


def finite(values: AnyArray, name: str) -> None:
    """Refuse a NaN or an infinite value."""
    from multitudes.kernels.checking import SOUND, first_not_finite

    at = first_not_finite(values)
    if at != SOUND:
        raise StoreError(f"{name} must hold finite numbers, got {values.flat[at]} at {at}")


def between(values: AnyArray, name: str, low: float, high: float) -> None:
    """Refuse a number that is not low <= value <= high; NaN never is."""
    if values.size and not (low <= values.min() and values.max() <= high):
        raise StoreError(
            f"{name} must hold numbers from {low:g} to {high:g}, got {values.min():g} to "
            f"{values.max():g}"
        )


def rising(values: AnyArray, name: str) -> None:
    """Refuse numbers that fall somewhere; equal ones may follow each other."""
    falls = np.flatnonzero(~(values[1:] >= values[:-1]))
    if len(falls):
        raise StoreError(f"{name} must not fall, and it does at {falls[0] + 1}")


def starts(values: AnyArray, name: str, n_values: int) -> None:
    """Refuse positions of runs that do not rise from 0 to the number of values."""
    from multitudes.kernels.checking import SOUND, first_wrong_start, readonly

    at = first_wrong_start(readonly(values), n_values)
    if at != SOUND:
        got = f"{values[at]} at {at}" if len(values) else "nothing"
        raise StoreError(f"{name} must rise from 0 to {n_values}, got {got}")


def counts(values: AnyArray, name: str, total: int) -> None:
    """Refuse counts of which one is negative, or whose sum is not the total."""
    from multitudes.kernels.checking import readonly, total_count

    found = total_count(readonly(values), total)
    if found != total:
        got = "negative ones, or more" if found < 0 else str(found)
        raise StoreError(f"{name} must be counts that add up to {total}, got {got}")


def count(
    state: State, name: str, *, at_least: int = 0, at_most: int = LARGEST_ID, none: bool = False
) -> int:
    """Return a whole number of the settings; with `none`, 0 if it is None."""
    value = _setting(state, name)
    if none and value is None:
        return 0
    if type(value) is not int or not at_least <= value <= at_most:
        raise StoreError(
            f"{name} must be a whole number from {at_least} to {at_most}, got {_short(value)}"
        )
    return value


def number(
    state: State, name: str, *, at_least: float = -math.inf, at_most: float = math.inf
) -> float:
    """Return a number of the settings; never NaN, and infinite only if a limit is."""
    value = _setting(state, name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not at_least <= value <= at_most:
        raise StoreError(
            f"{name} must be a number from {at_least:g} to {at_most:g}, got {_short(value)}"
        )
    return float(value)


def flag(state: State, name: str) -> bool:
    """Return a setting that is True or False."""
    value = _setting(state, name)
    if not isinstance(value, bool):
        raise StoreError(f"{name} must be True or False, got {_short(value)}")
    return value


def choice(state: State, name: str, allowed: Collection[Any]) -> Any:
    """Return a setting that is one of some values."""
    value = _setting(state, name)
    if not any(type(value) is type(one) and value == one for one in allowed):
        raise StoreError(f"{name} must be one of {list(allowed)}, got {_short(value)}")
    return value


def settings(config: type[Settings], values: Any, name: str) -> Settings:
    """Return a `Config` from its stored values, all numbers of which must be finite."""
    if not isinstance(values, Mapping):
        raise StoreError(f"{name} must be settings by name, got {_short(values)}")
    for key, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise StoreError(f"{name}.{key} must be a finite number, got {value}")
        if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
            raise StoreError(f"{name}.{key} must be a smaller number, got {_short(value)}")
    try:
        return config.from_dict(values)
    except MultitudesError as error:
        raise StoreError(f"{name}: {error}") from error


def parameters(
    state: State, cls: type, *, without: Collection[str] = (), beside: Collection[str] = ()
) -> dict[str, Any]:
    """Return the settings that are parameters of a class; one that is missing has its default.

    Parameters
    ----------
    without : collection of str
        Parameters that are never stored, e.g. those of the machine.
    beside : collection of str
        Settings that must be there and are not parameters.
    """
    own = set(inspect.signature(cls).parameters) - set(without)
    found = {name: value for name, value in state.config.items() if name not in beside}
    for name in beside:
        _setting(state, name)
    unknown = sorted(set(found) - own)
    if unknown:
        raise StoreError(f"{cls.__name__} has no setting {unknown[0]!r}")
    return found


def numbers(values: Any, name: str, *, n: int | None = None) -> None:
    """Refuse anything but a list, or a mapping by name, of `n` numbers; some may be None."""
    is_list = isinstance(values, (list, tuple, Mapping))
    items = list(values.values()) if isinstance(values, Mapping) else values
    plain = is_list and all(one is None or type(one) in (int, float) for one in items)
    if not plain or (n is not None and len(items) != n):
        raise StoreError(f"{name} must be {n or 'some'} numbers, got {_short(values)}")


def part(state: State, name: str, kinds: str | Collection[str]) -> State:
    """Return a part, of one of some kinds."""
    if name not in state.parts:
        raise StoreError(f"the part {name!r} is not there")
    found, allowed = state.parts[name], (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if found.kind not in allowed:
        raise StoreError(f"{name} must be of kind {' or '.join(allowed)}, got {found.kind!r}")
    return found


def numbered_parts(state: State, prefix: str, *, at_least: int = 1) -> list[State]:
    """Return all parts of a state, which must be ``prefix-0``, ``prefix-1`` and so on."""
    wanted = [f"{prefix}-{i}" for i in range(len(state.parts))]
    if set(wanted) != set(state.parts) or len(wanted) < at_least:
        raise StoreError(f"its parts must be {prefix}-0 and so on, got {sorted(state.parts)}")
    return [state.parts[name] for name in wanted]


def distinct(values: Sequence[str], name: str) -> None:
    """Refuse a string that is there twice."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise StoreError(f"{name} must be distinct, got {value!r} twice")
        seen.add(value)


def same(found: object, expected: object, what: str) -> None:
    """Refuse two parts that disagree about something, e.g. how many labels there are."""
    if found != expected:
        raise StoreError(f"its parts disagree about {what}: {found} and {expected}")


@contextmanager
def as_part(name: str) -> Iterator[None]:
    """Name the part in a StoreError about it."""
    try:
        yield
    except StoreError as error:
        raise StoreError(f"{name}: {error}") from error


def _setting(state: State, name: str) -> Any:
    if name not in state.config:
        raise StoreError(f"the setting {name!r} is not there")
    return state.config[name]


def _short(value: object) -> str:
    """Return a value as text that fits a message; numbers may have any number of digits."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"a number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
