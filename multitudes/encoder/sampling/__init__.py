"""Training batches: which instances, which labels with them, and which pairs are known."""

from multitudes.encoder.sampling.clusters import ClusterSchedule
from multitudes.encoder.sampling.sampler import Batch, BatchSampler, SamplerConfig

__all__ = ["Batch", "BatchSampler", "ClusterSchedule", "SamplerConfig"]
