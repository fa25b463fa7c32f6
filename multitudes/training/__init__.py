"""Training of torch models: one loop for all of them."""

import multitudes.deep  # noqa: F401  before torch
from multitudes.training.batches import Batches
from multitudes.training.checkpoint import Checkpoint
from multitudes.training.device import choose_device
from multitudes.training.digest import digest_of
from multitudes.training.history import EpochRecord, History
from multitudes.training.loop import train
from multitudes.training.run import Stateful
from multitudes.training.training_config import TrainingConfig

__all__ = [
    "Batches",
    "Checkpoint",
    "EpochRecord",
    "History",
    "Stateful",
    "TrainingConfig",
    "choose_device",
    "digest_of",
    "train",
]
