"""PRIME: a text encoder with label prototypes (torch)."""

import multitudes.deep  # noqa: F401  before torch
from multitudes.errors import require

for _package in ("torch", "accelerate"):  # before an import below trips over it
    require(_package, extra="deep")

from multitudes.encoder.backbone.backbone import Backbone  # noqa: E402
from multitudes.encoder.backbone.backbone_config import BackboneConfig  # noqa: E402
from multitudes.encoder.backbone.loading import load_backbone  # noqa: E402
from multitudes.encoder.classifier import ClassifierConfig  # noqa: E402
from multitudes.encoder.encoder_features import EncoderFeatures  # noqa: E402
from multitudes.encoder.losses.loss_config import LossConfig  # noqa: E402
from multitudes.encoder.presets import PRESETS, prime_preset  # noqa: E402
from multitudes.encoder.prime import Prime  # noqa: E402
from multitudes.encoder.prototypes.prototype_config import PrototypeConfig  # noqa: E402
from multitudes.encoder.prototypes.prototypes import PrototypeNetwork  # noqa: E402
from multitudes.encoder.sampling import SamplerConfig  # noqa: E402
from multitudes.encoder.search.index_config import IndexConfig  # noqa: E402

__all__ = [
    "PRESETS",
    "Backbone",
    "BackboneConfig",
    "ClassifierConfig",
    "EncoderFeatures",
    "IndexConfig",
    "LossConfig",
    "Prime",
    "PrototypeConfig",
    "PrototypeNetwork",
    "SamplerConfig",
    "load_backbone",
    "prime_preset",
]
