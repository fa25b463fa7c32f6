"""PRIME: a text encoder with label prototypes (torch)."""

import multitudes.deep  # noqa: F401  before torch
from multitudes.errors import require

for _package in ("torch", "accelerate"):  # before an import below trips over it
    require(_package, extra="deep")

from multitudes.encoder.backbone.model import BackboneConfig  # noqa: E402
from multitudes.encoder.classifier import ClassifierConfig  # noqa: E402
from multitudes.encoder.losses.config import LossConfig  # noqa: E402
from multitudes.encoder.presets import PRESETS, prime_preset  # noqa: E402
from multitudes.encoder.prime import Prime  # noqa: E402
from multitudes.encoder.prototypes.network import PrototypeConfig  # noqa: E402
from multitudes.encoder.sampling import SamplerConfig  # noqa: E402
from multitudes.encoder.search.approximate import IndexConfig  # noqa: E402

__all__ = [
    "PRESETS",
    "BackboneConfig",
    "ClassifierConfig",
    "IndexConfig",
    "LossConfig",
    "Prime",
    "PrototypeConfig",
    "SamplerConfig",
    "prime_preset",
]
