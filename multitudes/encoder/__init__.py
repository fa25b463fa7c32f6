"""PRIME: a text encoder with label prototypes (torch)."""

from multitudes.encoder.backbone_config import BackboneConfig
from multitudes.encoder.classifier import ClassifierConfig
from multitudes.encoder.index_config import IndexConfig
from multitudes.encoder.loss_config import LossConfig
from multitudes.encoder.presets import PRESETS, prime_preset
from multitudes.encoder.prime import Prime
from multitudes.encoder.prototype_config import PrototypeConfig
from multitudes.encoder.sampling import SamplerConfig

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
