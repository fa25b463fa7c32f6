"""Settings as frozen dataclasses: one default each, documented where they are declared.

A stage declares its settings once::

    @dataclass(frozen=True)
    class SolverConfig(Config):
        '''How one cluster's rankers are trained.'''

        cost: float = setting(1.0, "Weight of the loss against the L2 penalty.", above=0)

and the checks, the command line's help and the documentation all read them from there. So does the
search for good settings: ``search=between(0.1, 10, log=True)`` says which values are worth trying.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from multitudes.errors import ConfigError, suggestion

__all__ = ["Config", "Search", "among", "between", "setting"]


@dataclass(frozen=True)
class Search:
    """The values of a setting that are worth trying: a range, or a choice; see `between`, `among`.

    Parameters
    ----------
    low, high : int or float, optional
        Ends of a range, both included; of two ints, a range of ints.
    log : bool
        Whether the range is even in ratios, not in differences.
    choices : tuple
        The values of a choice.
    """

    low: float | None = None
    high: float | None = None
    log: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it is a range of ints."""
        return all(isinstance(end, int) for end in (self.low, self.high))

    def including(self, value: Any) -> Search | None:
        """Return the search with a value added, e.g. a default; None if a range cannot hold it."""
        if self.choices:
            known = any(_same(value, one) for one in self.choices)
            return self if known else dataclasses.replace(self, choices=(value, *self.choices))
        assert self.low is not None
        assert self.high is not None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        if self.is_whole and not isinstance(value, int):
            return None
        if not math.isfinite(value) or (self.log and value <= 0):
            return None
        return dataclasses.replace(self, low=min(self.low, value), high=max(self.high, value))

    def __str__(self) -> str:
        if self.choices:
            return " or ".join(str(one) for one in self.choices)
        return f"{self.low:g} to {self.high:g}{' (log)' if self.log else ''}"


def between(low: float, high: float, *, log: bool = False) -> Search:
    """Return a range to search, both ends included; of two ints, a range of ints."""
    for end in (low, high):
        if isinstance(end, bool) or not isinstance(end, (int, float)) or not math.isfinite(end):
            raise ConfigError(f"a range to search has numbers as its ends, got {end!r}")
    if not low < high:
        raise ConfigError(f"a range to search must rise, got {low} to {high}")
    if log and low <= 0:
        raise ConfigError(f"a range that is searched by ratios must begin above 0, got {low}")
    return Search(low, high, log)


def among(*choices: Any) -> Search:
    """Return values to choose from."""
    if not choices:
        raise ConfigError("a search needs values to choose from, got none")
    return Search(choices=choices)


def _same(a: Any, b: Any) -> bool:
    """Whether two values are the same setting: 1 and True are not."""
    return type(a) is type(b) and bool(a == b)


def setting(
    default: Any,
    doc: str,
    *,
    choices: Sequence[Any] | None = None,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    search: Search | None = None,
) -> Any:
    """Declare one field of a `Config`: its default, its sentence and what it allows.

    Parameters
    ----------
    default : the value if none is given
    doc : str
        A sentence for help texts and the documentation.
    choices, at_least, above, at_most : optional
        What is allowed.
    search : Search, optional
        What is worth trying, for `multitudes tune`; by default it is left alone.
    """
    limits = {"choices": choices, "at_least": at_least, "above": above, "at_most": at_most}
    known = {**limits, "search": search}
    metadata = {"doc": doc, **{k: v for k, v in known.items() if v is not None}}
    return dataclasses.field(default=default, metadata=metadata)


def setting_again(config: type[Config], name: str, default: Any) -> Any:
    """Declare a field of a parent class again with another default, and the rest unchanged."""
    field = next(field for field in dataclasses.fields(config) if field.name == name)
    return dataclasses.field(default=default, metadata=field.metadata)


@dataclass(frozen=True)
class Config:
    """Base of all settings: checks types and ranges, refuses unknown keys by name."""

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            check_setting(field, hints[field.name], getattr(self, field.name), type(self).__name__)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from a mapping; an unknown key is an error that names the nearest known one.

        Lists become the tuples they were before they went through JSON, where a tuple is declared.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        for key in values:
            if key not in known:
                raise ConfigError(
                    f"{cls.__name__} has no setting {key!r}: {suggestion(key, known)}"
                )
        hints = typing.get_type_hints(cls)
        return cls(**{key: _as_declared(value, hints[key]) for key, value in values.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for the model's manifest."""
        return dataclasses.asdict(self)

    def replaced(self, **changes: Any) -> Self:
        """Return a copy with some settings changed; unknown names are refused as in `from_dict`."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return type(self).from_dict({**values, **changes})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name, as scikit-learn's estimators do."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def describe(cls) -> list[tuple[str, str, Any, str]]:
        """Return (name, type, default, sentence) of each setting, for help texts and docs."""
        hints = typing.get_type_hints(cls)
        return [
            (f.name, type_name(hints[f.name]), f.default, f.metadata.get("doc", ""))
            for f in dataclasses.fields(cls)
        ]


def check_setting(field: dataclasses.Field[Any], hint: Any, value: Any, owner: str) -> None:
    """Raise a ConfigError unless `value` has the declared type and lies in the declared range."""
    name = f"{owner}.{field.name}"
    if not _has_type(value, hint):
        raise ConfigError(f"{name} must be {type_name(hint)}, got {_shown(value)}")
    if value is None:
        return
    limits = field.metadata
    if "choices" in limits and value not in limits["choices"]:
        raise ConfigError(f"{name} must be one of {list(limits['choices'])}, got {value!r}")
    if isinstance(value, str):  # e.g. "auto", in the place of a number
        return
    if "at_least" in limits and not value >= limits["at_least"]:
        raise ConfigError(f"{name} must be >= {limits['at_least']}, got {value!r}")
    if "above" in limits and not value > limits["above"]:
        raise ConfigError(f"{name} must be > {limits['above']}, got {value!r}")
    if "at_most" in limits and not value <= limits["at_most"]:
        raise ConfigError(f"{name} must be <= {limits['at_most']}, got {value!r}")


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001  a matrix whose arrays do not fit each other
        return f"a {type(value).__name__}"


def _as_declared(value: Any, hint: Any) -> Any:
    return tuple(value) if typing.get_origin(hint) is tuple and isinstance(value, list) else value


def type_name(hint: Any) -> str:
    """Return a type in words: ``int | None`` is "int or None"."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(type_name(part) for part in typing.get_args(hint))
    if hint is type(None):
        return "None"
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(repr(value) for value in typing.get_args(hint))
    return getattr(hint, "__name__", str(hint)) if not typing.get_args(hint) else str(hint)


def _has_type(value: Any, hint: Any) -> bool:
    """Return whether a plain value fits a plain type; of containers, only the outer one."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_has_type(value, part) for part in typing.get_args(hint))
    if origin is typing.Literal:
        return value in typing.get_args(hint)
    if hint is Any:
        return True
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin or hint)
