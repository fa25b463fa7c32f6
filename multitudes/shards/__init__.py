"""Data in many files, on one machine or on all machines of a cluster: train, predict, evaluate."""

from multitudes.shards.training import train_shards

__all__ = ["train_shards"]
