"""The presets of OTSeq2Set, which `multitudes.models.seq2set` declares: rows of Table 3."""

from __future__ import annotations

from multitudes.errors import ConfigError, suggestion
from multitudes.models.seq2set import ABLATIONS, MODELS
from multitudes.seq2set.otseq2set import OTSeq2Set

PRESETS = {spec.name: spec for spec in (*MODELS, *ABLATIONS)}
"""What each preset is, and its settings of `OTSeq2Set`, by name."""


def seq2set_preset(name: str) -> OTSeq2Set:
    """Return a new, unfitted OTSeq2Set with the settings of a preset."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}: {suggestion(name, PRESETS)}")
    model: OTSeq2Set = PRESETS[name].make_model()
    return model
