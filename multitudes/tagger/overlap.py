"""The setting `overlap` of tree presets: above 1 it puts the model into `Disentangled`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitudes.errors import ConfigError
from multitudes.tagger.presets import PRESETS, Preset
from multitudes.tagger.settings import settings_of

OVERLAP = "overlap"


def asks_for_overlap(settings: Mapping[str, Any]) -> bool:
    """Whether labels may live in several leaves."""
    overlap = settings.get(OVERLAP, 1)
    if isinstance(overlap, bool) or not isinstance(overlap, int) or overlap < 1:
        raise ConfigError(f"overlap must be a whole number >= 1, got {overlap!r}")
    return overlap > 1


def preset_model(preset: Preset, settings: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The preset's model, in `Disentangled` where overlap is asked for; and the settings it takes.

    Without overlap the model is the plain one, and a setting that only matters with it an error.
    """
    overlapping = asks_for_overlap(settings)
    if not preset.has_leaves and OVERLAP in settings:
        trees = " or ".join(other.name for other in PRESETS.values() if other.has_leaves)
        raise ConfigError(
            f"{preset.name} has no leaves that labels could share: take {trees}, or leave out "
            "overlap"
        )
    if overlapping:
        return preset.make_full_model(), dict(settings)
    plain = preset.make_model()
    rest = {name: value for name, value in settings.items() if name != OVERLAP}
    only_with_overlap = settings_of(preset.make_full_model()).keys() - settings_of(plain).keys()
    for name in rest:
        if name in only_with_overlap:
            raise ConfigError(
                f"setting {name!r} is about labels that live in several leaves: add overlap=2, or "
                "leave it out"
            )
    return plain, rest
