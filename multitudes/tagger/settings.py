"""Settings by name: ``branching`` of the model, ``features.min_df`` of its features.

The names are the parameters the estimators declare; nothing is listed twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from multitudes.config import Config
from multitudes.errors import ConfigError, suggestion

FEATURES_PREFIX = "features."


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
    """Set parameters of the two estimators by name; an unknown name is an error.

    Values out of range are refused by the estimators themselves, when they are fitted.
    """
    known = {**_parameters(model, ""), **_parameters(features, FEATURES_PREFIX)}
    for name, value in settings.items():
        if name not in known:
            raise ConfigError(f"there is no setting {name!r}: {suggestion(name, known)}")
        estimator, parameter = known[name]
        # Sequences arrive from JSON as lists; the settings that take one take a tuple.
        estimator.set_params(**{parameter: tuple(value) if isinstance(value, list) else value})


def set_where_known(estimator: Any, name: str, value: Any) -> None:
    """Set a parameter if the estimator has it, as with seed and n_threads."""
    if name in _parameters(estimator, ""):
        estimator.set_params(**{name: value})


def _parameters(estimator: Any, prefix: str) -> dict[str, tuple[Any, str]]:
    """Full setting name -> (estimator, its parameter)."""
    if not hasattr(estimator, "get_params"):
        return {}
    return {prefix + name: (estimator, name) for name in estimator.get_params(deep=False)}


def describe_settings(model: Any, features: Any) -> list[tuple[str, Any, str]]:
    """(name, value, sentence) of every setting of a model and its features, for help texts."""
    rows = []
    for estimator, prefix in ((model, ""), (features, FEATURES_PREFIX)):
        sentences = _sentences(estimator)
        for name, value in estimator.get_params(deep=False).items():
            rows.append((prefix + name, value, sentences.get(name, "")))
    return rows


def _sentences(estimator: Any) -> dict[str, str]:
    """Parameter -> sentence, from the Config classes in the estimator's package."""
    import importlib

    package = importlib.import_module(type(estimator).__module__.rpartition(".")[0])
    configs = [
        value
        for value in vars(package).values()
        if isinstance(value, type) and issubclass(value, Config) and value is not Config
    ]
    return {name: doc for config in configs for name, _, _, doc in config.describe()}
