"""Stage 1, files to `Dataset`: readers and writers, splits, and the embedded catalogue."""

from multitudes.data.dataset import Dataset

__all__ = ["Dataset"]
