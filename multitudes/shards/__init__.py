"""Data in many files, on one machine or on all machines of a cluster: train, predict, evaluate."""

from multitudes.shards.evaluating import evaluate_shards
from multitudes.shards.places import find_shards
from multitudes.shards.predicting import predict_shards, tag_dataset
from multitudes.shards.training import train_shards

__all__ = ["evaluate_shards", "find_shards", "predict_shards", "tag_dataset", "train_shards"]
