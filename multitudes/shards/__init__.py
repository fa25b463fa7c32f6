"""Data in many files, on one machine or on all machines of a cluster: train, predict, evaluate.

Names load on first use: whether data is shards is asked of all data, and most of it is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitudes.lazy import lazy_names

__all__ = ["evaluate_shards", "find_shards", "predict_shards", "tag_dataset", "train_shards"]

if TYPE_CHECKING:
    from multitudes.shards.evaluating import evaluate_shards
    from multitudes.shards.places import find_shards
    from multitudes.shards.predicting import predict_shards, tag_dataset
    from multitudes.shards.training import train_shards
else:
    _HOMES = {
        "evaluate_shards": "multitudes.shards.evaluating",
        "find_shards": "multitudes.shards.places",
        "predict_shards": "multitudes.shards.predicting",
        "tag_dataset": "multitudes.shards.predicting",
        "train_shards": "multitudes.shards.training",
    }
    __getattr__ = lazy_names(__name__, _HOMES)
