"""Settings as frozen dataclasses: one default each, documented where they are declared.

A stage declares its settings once::

    @dataclass(frozen=True)
    class SolverConfig(Config):
        '''How one cluster's rankers are trained.'''

        cost: float = setting(1.0, "Weight of the loss against the L2 penalty.", above=0)

and the checks, the command line's help and the documentation all read them from there.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from multitudes.errors import ConfigError, suggestion


def setting(
    default: Any,
    doc: str,
    *,
    choices: Sequence[Any] | None = None,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
) -> Any:
    """Declare one field of a `Config`: its default, its sentence and what it allows."""
    limits = {"choices": choices, "at_least": at_least, "above": above, "at_most": at_most}
    metadata = {"doc": doc, **{k: v for k, v in limits.items() if v is not None}}
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
        raise ConfigError(f"{name} must be {type_name(hint)}, got {value!r}")
    if value is None:
        return
    limits = field.metadata
    if "choices" in limits and value not in limits["choices"]:
        raise ConfigError(f"{name} must be one of {list(limits['choices'])}, got {value!r}")
    if "at_least" in limits and not value >= limits["at_least"]:
        raise ConfigError(f"{name} must be >= {limits['at_least']}, got {value!r}")
    if "above" in limits and not value > limits["above"]:
        raise ConfigError(f"{name} must be > {limits['above']}, got {value!r}")
    if "at_most" in limits and not value <= limits["at_most"]:
        raise ConfigError(f"{name} must be <= {limits['at_most']}, got {value!r}")


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
