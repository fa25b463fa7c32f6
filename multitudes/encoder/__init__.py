"""PRIME: a text encoder with label prototypes (torch)."""

import multitudes.deep  # noqa: F401  before torch
from multitudes.errors import require

for _package in ("torch", "accelerate"):  # before an import below fails without advice
    require(_package, extra="deep")

from multitudes.encoder.backbone.loading import load_backbone  # noqa: E402
from multitudes.encoder.backbone.model import Backbone, BackboneConfig  # noqa: E402
from multitudes.encoder.classifier import ClassifierConfig  # noqa: E402
from multitudes.encoder.explanation import Explanation, NearestInstances  # noqa: E402
from multitudes.encoder.features import EncoderFeatures  # noqa: E402
from multitudes.encoder.losses import (  # noqa: E402
    LossConfig,
    Targets,
    dynamic_margin_loss,
    make_targets,
    multi_objective_loss,
    prototype_regularizer,
    softmax_loss,
    triplet_loss,
)
from multitudes.encoder.presets import PRESETS, prime_preset  # noqa: E402
from multitudes.encoder.prime import Prime  # noqa: E402
from multitudes.encoder.prototypes.network import PrototypeConfig, PrototypeNetwork  # noqa: E402
from multitudes.encoder.sampling import SamplerConfig  # noqa: E402
from multitudes.encoder.search.approximate import IndexConfig  # noqa: E402
from multitudes.encoder.search.index import PrototypeIndex  # noqa: E402
from multitudes.encoder.updating import UpdateConfig  # noqa: E402

__all__ = [
    "PRESETS",
    "Backbone",
    "BackboneConfig",
    "ClassifierConfig",
    "EncoderFeatures",
    "Explanation",
    "IndexConfig",
    "LossConfig",
    "NearestInstances",
    "Prime",
    "PrototypeConfig",
    "PrototypeIndex",
    "PrototypeNetwork",
    "SamplerConfig",
    "Targets",
    "UpdateConfig",
    "dynamic_margin_loss",
    "load_backbone",
    "make_targets",
    "multi_objective_loss",
    "prime_preset",
    "prototype_regularizer",
    "softmax_loss",
    "triplet_loss",
]
