"""Training of torch models: one loop for all of them."""

from multitudes.deep.training.batches import Batches
from multitudes.deep.training.checkpoint import Checkpoint, digest_of
from multitudes.deep.training.config import TrainingConfig
from multitudes.deep.training.forecast import Outlook, trial_seconds
from multitudes.deep.training.history import LOSS, EpochRecord, History
from multitudes.deep.training.loop import train
from multitudes.deep.training.optimizer import SparseRows
from multitudes.deep.training.run import Stateful
from multitudes.deep.training.world import ALONE, World

__all__ = [
    "ALONE",
    "LOSS",
    "Batches",
    "Checkpoint",
    "EpochRecord",
    "History",
    "Outlook",
    "SparseRows",
    "Stateful",
    "TrainingConfig",
    "World",
    "digest_of",
    "train",
    "trial_seconds",
]
