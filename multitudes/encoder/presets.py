"""PRIME, and the encoders it is compared with, as settings of the same code."""

from __future__ import annotations

from typing import Any

from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.prime import Prime
from multitudes.encoder.prototypes.network import PrototypeConfig
from multitudes.encoder.sampling import SamplerConfig
from multitudes.errors import ConfigError, suggestion

_TEXT = PrototypeConfig(sources=("text",), combine="sum", source_dropout=0.0)
_TEXT_AND_FREE = PrototypeConfig(sources=("text", "free"), combine="sum", source_dropout=0.0)
_SOFTMAX = LossConfig(
    kind="softmax", query_to_label=False, label_to_query=False, regularizer_weight=0.0
)
_FIXED = LossConfig(
    margin="fixed", query_to_label=False, label_to_query=False, regularizer_weight=0.0
)
_RANDOM = SamplerConfig(batch_size=3200, clustered=False)
_CLUSTERED = SamplerConfig(batch_size=3200)

# name -> (what it is, settings of Prime that differ from its defaults)
PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "prime": (
        "text, centroid and free vector in one prototype; two positives per instance",
        {"sampler": SamplerConfig(batch_size=3200, positives=2)},
    ),
    "prime-lite": (
        "the same with one positive and half the batch",
        {"sampler": SamplerConfig(batch_size=1600)},
    ),
    "prime++": (
        "the same with three positives and twice the batch",
        {"sampler": SamplerConfig(batch_size=6400, positives=3)},
    ),
    "dexa": (
        "label text plus a free vector, fixed margin, clustered batches",
        {"prototypes": _TEXT_AND_FREE, "loss": _FIXED, "sampler": _CLUSTERED},
    ),
    "ngame": (
        "label text alone, fixed margin, clustered batches",
        {"prototypes": _TEXT, "loss": _FIXED, "sampler": _CLUSTERED},
    ),
    "siamese": (
        "label text alone, fixed margin, random batches",
        {"prototypes": _TEXT, "loss": _FIXED, "sampler": _RANDOM},
    ),
    "dpr": (
        "label text alone, softmax over random batches",
        {"prototypes": _TEXT, "loss": _SOFTMAX, "sampler": _RANDOM},
    ),
}
"""What each preset is, and its settings of `Prime`, by name."""


def prime_preset(name: str) -> Prime:
    """A new, unfitted Prime with the settings of a preset."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}: {suggestion(name, PRESETS)}")
    return Prime(**PRESETS[name][1])
