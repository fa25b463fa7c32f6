"""Training of torch models: one loop for all of them."""

from multitudes.deep.training.batches import Batches
from multitudes.deep.training.checkpoint import Checkpoint
from multitudes.deep.training.device import choose_device
from multitudes.deep.training.digest import digest_of
from multitudes.deep.training.history import EpochRecord, History
from multitudes.deep.training.loop import train
from multitudes.deep.training.run import Stateful
from multitudes.deep.training.training_config import TrainingConfig

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
