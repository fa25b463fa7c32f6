"""The presets of Prime, which `multitudes.models.encoder` declares."""

from __future__ import annotations

from multitudes.encoder.prime import Prime
from multitudes.errors import ConfigError, suggestion
from multitudes.models.encoder import MODELS

PRESETS = {spec.name: spec for spec in MODELS}
"""The presets of `Prime` by name, each with a summary and the settings that it changes."""


def prime_preset(name: str) -> Prime:
    """Return a new, unfitted Prime with the settings of a preset."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}: {suggestion(name, PRESETS)}")
    model: Prime = PRESETS[name].make_model()
    return model
