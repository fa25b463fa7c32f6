"""Training losses over a batch's similarity matrix, one file each."""

from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.dynamic_margin import dynamic_margin_loss
from multitudes.encoder.losses.multi_objective import multi_objective_loss
from multitudes.encoder.losses.regularizer import prototype_regularizer
from multitudes.encoder.losses.softmax import softmax_loss
from multitudes.encoder.losses.targets import Targets, make_targets
from multitudes.encoder.losses.triplet import triplet_loss

__all__ = [
    "LossConfig",
    "Targets",
    "dynamic_margin_loss",
    "make_targets",
    "multi_objective_loss",
    "prototype_regularizer",
    "softmax_loss",
    "triplet_loss",
]
