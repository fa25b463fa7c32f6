"""Training batches: which instances, which labels beside them, and which pairs are known."""

from multitudes.deep.prefetch import prefetched
from multitudes.encoder.sampling.batch import Batch
from multitudes.encoder.sampling.batches import BatchSampler
from multitudes.encoder.sampling.config import SamplerConfig
from multitudes.encoder.sampling.schedule import ClusterSchedule

__all__ = ["Batch", "BatchSampler", "ClusterSchedule", "SamplerConfig", "prefetched"]
