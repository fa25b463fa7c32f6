"""The settings ``groups.n_steps`` and its kin: how labels of groups are assigned to instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitudes.errors import ConfigError
from multitudes.groups import Eagle
from multitudes.tagger.presets import preset
from multitudes.tagger.settings import COMMON, Setting, check_names, set_together, settings_of

GROUPS_PREFIX = "groups."
CHOSEN: dict[str, Any] = {"n_steps": "auto", "contrast": True, "use_counts": True}
"""Settings of `Eagle` that differ from its defaults, which are the paper's: better, for no time."""


def group_settings(eagle: Any = None) -> dict[str, Setting]:
    """Full name -> Setting of an Eagle; those of the model inside it have names of their own."""
    if eagle is None:
        eagle = Eagle(preset("xr-linear").make_model(), **CHOSEN)
    return {
        name: setting
        for name, setting in settings_of(eagle, GROUPS_PREFIX, wrapped=False).items()
        if setting.parameter not in COMMON
    }


def describe_group_settings() -> list[tuple[str, Any, str]]:
    """(name, value, sentence) of each, for help texts."""
    return [(name, one.get(), one.sentence()) for name, one in group_settings().items()]


def split_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of model and features, and those about groups."""
    of_groups = {n: value for n, value in settings.items() if n.startswith(GROUPS_PREFIX)}
    return {n: value for n, value in settings.items() if n not in of_groups}, of_groups


def in_eagle(model: Any, settings: Mapping[str, Any]) -> Any:
    """A model in `Eagle`, with the settings about groups; an Eagle stays as it is."""
    eagle = model if isinstance(model, Eagle) else Eagle(model, **CHOSEN)
    known = group_settings(eagle)
    check_names(settings, known)
    set_together((known[name], value) for name, value in settings.items())
    return eagle


def check_unused(model: Any, settings: Mapping[str, Any]) -> None:
    """Refuse what is about groups where instances have labels of their own."""
    if isinstance(model, Eagle):
        raise ConfigError(
            "Eagle learns from the labels of groups, and these instances are learned from "
            "directly: pass the model inside it, or data with groups and group_labels"
        )
    for name in settings:
        raise ConfigError(
            f"setting {name!r} is about labels that were given to groups (--groups), and these "
            "instances are learned from directly: leave it out"
        )
