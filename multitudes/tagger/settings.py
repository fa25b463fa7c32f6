"""Settings by name: ``branching`` of the model, ``solver.cost`` of its solver, ``features.min_df``.

The names are the parameters the estimators declare, the fields of their Config parameters, and the
parameters of estimators that they wrap; nothing is listed twice.
"""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multitudes.config import Config
from multitudes.errors import ConfigError, suggestion

FEATURES_PREFIX = "features."
# They have options of their own, and mean the same for every model.
COMMON = {"random_state": "--seed", "n_jobs": "--threads", "verbose": "--quiet for none"}


def dotted(name: str) -> str:
    """Return the name of a setting with dots, also if given as `set_params` takes it."""
    return name.replace("__", ".")


@dataclass(frozen=True)
class Setting:
    """One thing that can be set: a parameter, or a field of a parameter that is a Config."""

    estimator: Any
    parameter: str
    config: type[Config] | None = None
    field: str = ""

    def get(self) -> Any:
        """The value now."""
        value = self.estimator.get_params(deep=False)[self.parameter]
        return value if self.config is None else getattr(value or self.config(), self.field)

    def set(self, value: Any) -> None:
        """Set it; a Config refuses a value out of range now, other estimators when they fit."""
        set_together([(self, value)])

    def sentence(self) -> str:
        """What it means, from the Config field or the class's docstring."""
        if self.config is not None:
            return next(row[3] for row in self.config.describe() if row[0] == self.field)
        return documented_parameters(self.estimator).get(self.parameter, "")


def parse_settings(assignments: Sequence[str]) -> dict[str, Any]:
    """Settings from ``name=value`` texts, as the command line takes them.

    A value is read as JSON where it is JSON (``16``, ``0.5``, ``true``, ``null``, ``[1, 2]``);
    ``none`` is None; anything else is a text.
    """
    settings: dict[str, Any] = {}
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not separator or not name.strip():
            raise ConfigError(
                f"a setting is given as name=value, got {assignment!r}: e.g. branching=16"
            )
        settings[name.strip()] = _parse_value(value.strip())
    return settings


def _parse_value(value: str) -> Any:
    words = {"none": None, "true": True, "false": False}
    if value.lower() in words:
        return words[value.lower()]
    try:
        return json.loads(value)
    except ValueError:
        return value


def apply_settings(model: Any, features: Any, settings: Mapping[str, Any]) -> None:
    """Set parameters of the two estimators by name; an unknown name is an error."""
    known = {**settings_of(model), **settings_of(features, FEATURES_PREFIX)}
    check_names(settings, known)
    set_together((known[name], value) for name, value in settings.items())


def set_together(values: Iterable[tuple[Setting, Any]]) -> None:
    """Set several; fields of one Config at once, because it checks them against each other."""
    by_parameter: dict[tuple[int, str], list[tuple[Setting, Any]]] = {}
    for setting, value in values:
        if isinstance(value, list):  # from JSON; the settings that take a sequence take a tuple
            value = tuple(value)
        place = (id(setting.estimator), setting.parameter)
        by_parameter.setdefault(place, []).append((setting, value))
    for (_, parameter), chosen in by_parameter.items():
        setting, value = chosen[-1]
        if setting.config is not None:
            now = setting.estimator.get_params(deep=False)[parameter] or setting.config()
            fields = {one.field: value for one, value in chosen}
            value = setting.config.from_dict({**now.to_dict(), **fields})
        setting.estimator.set_params(**{parameter: value})


def check_names(names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a name that is not known, with the nearest one that is."""
    known = set(known)
    for name in names:
        common = name.rpartition(".")[2]
        if name not in known and common in COMMON:
            raise ConfigError(
                f"there is no setting {name!r}: {common} is one for all, and given as "
                f"Tagger({common}=...), {COMMON[common]}"
            )
        if name not in known:
            raise ConfigError(f"there is no setting {name!r}: {suggestion(name, known)}")


def set_where_known(estimator: Any, name: str, value: Any) -> None:
    """Set a parameter of an estimator, and of one it wraps, if they have it: seed, n_jobs."""
    if not hasattr(estimator, "get_params"):
        return
    parameters = estimator.get_params(deep=False)
    if name in parameters:
        estimator.set_params(**{name: value})
    for wrapped in parameters.values():
        for inner in _estimators_in(wrapped):
            set_where_known(inner, name, value)


def describe_settings(model: Any, features: Any) -> list[tuple[str, Any, str]]:
    """(name, value, sentence) of every setting of a model and its features, for help texts."""
    known = {**settings_of(model), **settings_of(features, FEATURES_PREFIX)}
    return [
        (name, setting.get(), setting.sentence())
        for name, setting in known.items()
        if setting.parameter not in COMMON
    ]


def settings_of(estimator: Any, prefix: str = "", *, wrapped: bool = True) -> dict[str, Setting]:
    """Full name -> Setting of an estimator, and of those it wraps; none without ``get_params``."""
    if not hasattr(estimator, "get_params"):
        return {}
    found: dict[str, Setting] = {}
    for name, setting in _settings(estimator, wrapped=wrapped):
        found.setdefault(prefix + name, setting)  # of blocks side by side, the first has the name
    return found


def _settings(estimator: Any, *, wrapped: bool) -> Iterator[tuple[str, Setting]]:
    hints = _hints(type(estimator))
    for name, value in estimator.get_params(deep=False).items():
        inside = _estimators_in(value)
        if inside:
            for inner in inside if wrapped else ():
                yield from _settings(inner, wrapped=True)
            continue
        kinds = typing.get_args(hints.get(name)) or (hints.get(name),)
        configs = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Config)]
        if configs:
            for field, *_ in configs[0].describe():
                if field not in COMMON:
                    yield f"{name}.{field}", Setting(estimator, name, configs[0], field)
        elif value is not None or _can_be_plain(kinds):
            yield name, Setting(estimator, name)


def _estimators_in(value: Any) -> list[Any]:
    """The estimators that a parameter holds: itself, or a list of them."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return [
        one for one in values if hasattr(one, "get_params") and not isinstance(one, type | Config)
    ]


def _can_be_plain(kinds: Sequence[Any]) -> bool:
    """Whether a value that JSON can spell fits; not so for a tree or an array."""
    plain = {int, float, str, bool, tuple, Sequence, Any, None}  # None: no hint at all
    return any((typing.get_origin(kind) or kind) in plain for kind in kinds)


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls.__init__)  # type: ignore[misc]
    except NameError:  # a foreign estimator whose hints are only for type checkers
        return {}


def documented_parameters(estimator: Any) -> dict[str, str]:
    """Parameter -> what the numpy-style docstring of its class says, on one line.

    Where the docstring points to a Config with the same fields (features do), its sentences.
    """
    sentences: dict[str, str] = {}
    module = inspect.getmodule(type(estimator))
    for value in vars(module).values() if module is not None else ():
        if isinstance(value, type) and issubclass(value, Config):
            sentences |= {name: doc for name, _, _, doc in value.describe()}
    section = re.search(
        r"Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)",
        inspect.getdoc(type(estimator)) or "",
        re.DOTALL,
    )
    entries = re.findall(
        r"^(\w[\w, ]*) : [^\n]*((?:\n +[^\n]+)*)", section[1] if section else "", re.MULTILINE
    )
    for names, text in entries:
        for name in names.split(", "):
            sentences.setdefault(name, " ".join(text.split()))
    return sentences
