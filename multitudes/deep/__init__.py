"""What the networks share: texts, devices, training, and operations that are fast on a GPU.

Import it before torch: it keeps torch off instructions that fail on this processor. Names load on
first use, because parts of this package import one another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitudes.deep.processor import prepare
from multitudes.lazy import lazy_names

if TYPE_CHECKING:
    from multitudes.deep.texts.token_cache import token_cache as token_cache
    from multitudes.deep.training import Batches as Batches
    from multitudes.deep.training import Checkpoint as Checkpoint
    from multitudes.deep.training import EpochRecord as EpochRecord
    from multitudes.deep.training import History as History
    from multitudes.deep.training import Outlook as Outlook
    from multitudes.deep.training import Stateful as Stateful
    from multitudes.deep.training import TrainingConfig as TrainingConfig
    from multitudes.deep.training import World as World
    from multitudes.deep.training import train as train

prepare()

__all__ = [
    "Batches",
    "Checkpoint",
    "EpochRecord",
    "History",
    "Outlook",
    "Stateful",
    "TrainingConfig",
    "World",
    "token_cache",
    "train",
]

if not TYPE_CHECKING:
    _HOMES = dict.fromkeys(__all__, "multitudes.deep.training")
    _HOMES["token_cache"] = "multitudes.deep.texts.token_cache"
    __getattr__ = lazy_names(__name__, _HOMES)
