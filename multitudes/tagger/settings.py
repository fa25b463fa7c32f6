"""Settings by name: ``branching`` of the model, ``solver.cost`` of its solver, ``features.min_df``.

The names are those of scikit-learn's `get_params`, with a dot in the place of two underscores.
Those of an estimator inside another, e.g. of the model in `Disentangled`, have no prefix. Nothing
is listed here: settings and their sentences come from the estimators and their Configs.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from multitudes.config import Config, Search
from multitudes.errors import ConfigError, suggestion

FEATURES_PREFIX = "features."
# They have options of their own, and mean the same for every model.
COMMON = frozenset({"random_state", "n_jobs", "verbose", "memory_limit"})


def dotted(name: str) -> str:
    """Return the name of a setting with dots, also if given as `set_params` takes it."""
    return name.replace("__", ".")


@runtime_checkable
class HasParameters(Protocol):
    """What scikit-learn calls an estimator: its parameters can be read and set."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name."""


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator, not the class of one."""
    return isinstance(value, HasParameters) and not isinstance(value, type)


@dataclass(frozen=True)
class Setting:
    """One thing that can be set: a parameter of an estimator, or a field of one that is a Config.

    Parameters
    ----------
    estimator : estimator
    key : str
        As its `set_params` takes it, e.g. "branching" or "solver__cost".
    """

    estimator: Any
    key: str

    def get(self) -> Any:
        """Return the value now."""
        name, _, field = self.key.partition("__")
        value = self.estimator.get_params(deep=False)[name]
        return getattr(value, field) if field else value

    def set(self, value: Any) -> None:
        """Set it; a Config refuses a value out of range now, other estimators when they fit."""
        set_together([(self, value)])

    def sentence(self) -> str:
        """Return what it means, from the Config field or the class's docstring."""
        name, _, field = self.key.partition("__")
        if field:
            return config_sentences(type(self.estimator.get_params(deep=False)[name]))[field]
        return documented_parameters(type(self.estimator)).get(name, "")

    def search(self) -> Search | None:
        """Return the values worth trying, as declared beside its default; None if none are.

        Fields of a Config have them in `setting(...)`, other parameters in `search_space` of their
        class, a mapping by name.
        """
        name, _, field = self.key.partition("__")
        value = self.estimator.get_params(deep=False)[name]
        config = type(value) if field else getattr(type(self.estimator), "config_class", None)
        if config is not None:
            found = {one.name: one for one in dataclasses.fields(config)}.get(field or name)
            return None if found is None else found.metadata.get("search")
        declared: Search | None = getattr(self.estimator, "search_space", {}).get(name)
        return declared


# ------------------------------------------------------------------ reading and setting


def parse_settings(assignments: Sequence[str]) -> dict[str, Any]:
    """Return settings from ``name=value`` texts, as the command line takes them.

    A value is read as JSON if it is JSON (``16``, ``0.5``, ``true``, ``null``, ``[1, 2]``);
    ``none`` is None; anything else is a text, blanks too: ``label_separator= ``.
    """
    settings: dict[str, Any] = {}
    for assignment in assignments:
        if not isinstance(assignment, str):
            raise ConfigError(f"a setting is given as name=value, a str, got {assignment!r}")
        name, separator, value = assignment.partition("=")
        if not separator or not name.strip():
            raise ConfigError(
                f"a setting is given as name=value, got {assignment!r}: e.g. branching=16"
            )
        settings[name.strip()] = _parse_value(value.strip() or value)
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
    settings = {dotted(name): value for name, value in settings.items()}
    check_names(settings, known)
    set_together((known[name], value) for name, value in settings.items())


def set_together(values: Iterable[tuple[Setting, Any]]) -> None:
    """Set several; those of one estimator at once, because a Config checks its fields together."""
    by_estimator: dict[int, tuple[Any, dict[str, Any]]] = {}
    for setting, value in values:
        _, chosen = by_estimator.setdefault(id(setting.estimator), (setting.estimator, {}))
        # Lists come from JSON; the settings that take a sequence take a tuple.
        chosen[setting.key] = tuple(value) if isinstance(value, list) else value
    for estimator, chosen in by_estimator.values():
        estimator.set_params(**chosen)


def check_names(names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a name that is not known, with the nearest one that is."""
    known = set(known)
    for name in names:
        common = name.rpartition(".")[2]
        if name not in known and common in COMMON:
            raise ConfigError(
                f"there is no setting {name!r}: it is one for all parts of a model, given by "
                f"{common}"
            )
        if name not in known:
            raise ConfigError(f"there is no setting {name!r}: {suggestion(name, known)}")


def set_where_known(estimator: Any, name: str, value: Any) -> None:
    """Set a parameter of an estimator, and of one it wraps, if they have it, e.g. `n_jobs`."""
    if not is_estimator(estimator):
        return
    parameters = estimator.get_params(deep=False)
    if name in parameters:
        estimator.set_params(**{name: value})
    for wrapped in parameters.values():
        for inner in _estimators_in(wrapped):
            set_where_known(inner, name, value)


# ------------------------------------------------------------------ listing


def describe_settings(model: Any, features: Any) -> list[tuple[str, Any, str]]:
    """Return (name, value, sentence) of every setting of a model and its features."""
    known = {**settings_of(model), **settings_of(features, FEATURES_PREFIX)}
    return [
        (name, setting.get(), setting.sentence())
        for name, setting in known.items()
        if setting.key not in COMMON
    ]


def settings_of(estimator: Any, prefix: str = "", *, wrapped: bool = True) -> dict[str, Setting]:
    """Return full name -> Setting of an estimator, and of those it wraps; none of None."""
    found: dict[str, Setting] = {}
    if is_estimator(estimator):
        for setting in _settings(estimator, wrapped=wrapped):
            found.setdefault(prefix + dotted(setting.key), setting)  # of blocks, the first has it
    return found


def _settings(estimator: Any, *, wrapped: bool) -> Iterator[Setting]:
    hints = _hints(type(estimator))
    for name, value in estimator.get_params(deep=False).items():
        inside = _estimators_in(value)
        if inside:
            for inner in inside if wrapped else ():
                yield from _settings(inner, wrapped=True)
        elif isinstance(value, Config):
            fields = (field for field in value.get_params() if field not in COMMON)
            yield from (Setting(estimator, f"{name}__{field}") for field in fields)
        elif value is not None or _can_be_plain(hints.get(name)):
            yield Setting(estimator, name)


def _estimators_in(value: Any) -> list[Any]:
    """Return the estimators that a parameter holds: itself, or a list of them."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return [one for one in values if is_estimator(one)]


def _can_be_plain(hint: Any) -> bool:
    """Whether a parameter that is None may hold what JSON can spell; a tree or an array is not."""
    plain = {int, float, str, bool, tuple, Sequence, Any, None}  # None: no hint at all
    kinds = typing.get_args(hint) or (hint,)
    return any((typing.get_origin(kind) or kind) in plain for kind in kinds)


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls.__init__)  # type: ignore[misc]
    except NameError:  # an estimator of others whose hints are only for type checkers
        return {}


def config_sentences(config: type[Config]) -> dict[str, str]:
    """Return what each field of a Config means."""
    return {name: sentence for name, _, _, sentence in config.describe()}


def documented_parameters(cls: type) -> dict[str, str]:
    """Return what each parameter means, from a numpy-style docstring, on one line each.

    A class whose parameters are the fields of a Config names it as `config_class` instead.
    """
    config = getattr(cls, "config_class", None)
    if config is not None:
        return config_sentences(config)
    _, _, section = (inspect.getdoc(cls) or "").partition("\nParameters\n----------\n")
    sentences: dict[str, str] = {}
    names: list[str] = []
    for line in section.partition("\n\n")[0].splitlines():
        if line.startswith(" "):
            sentences |= {name: f"{sentences[name]} {line.strip()}".strip() for name in names}
        else:
            names = line.partition(" : ")[0].split(", ")
            sentences |= dict.fromkeys(names, "")
    return sentences
