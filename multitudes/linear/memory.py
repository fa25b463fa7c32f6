"""Will it fit? An estimate before training, and a refusal with numbers when it will not."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from multitudes.errors import ResourceError
from multitudes.kernels.lanes import LANES
from multitudes.labels import LabelTree
from multitudes.linear.level_labels import Pattern
from multitudes.types import Sparse

# Kept weights per value that a level reads, and bytes per kept weight while training: read off
# debian-deps, eurlex-titles and yso-finna-en, rounded up.
WEIGHTS_PER_VALUE = 1.0
BYTES_PER_WEIGHT = 14
GIB = 1 << 30


def estimate_bytes(X: Sparse, tree: LabelTree, carried: list[Pattern], n_jobs: int) -> int:
    """Peak bytes of training beyond X and Y: label patterns, one thread's work each, the model."""
    lengths = np.diff(X.indptr).astype(np.int64)
    patterns = sum(2 * p.indices.nbytes + p.indptr.nbytes for p in carried)
    values_read = int(lengths.sum())
    for pattern in carried[:-1]:
        values_read += int(np.repeat(lengths, np.diff(pattern.indptr)).sum())
    block = (X.shape[1] + 1) * LANES * 4
    per_thread = 8 * X.nnz + X.shape[0] * (LANES * 4 + 32) + 4 * block + 8 * X.shape[1]
    model = int(values_read * WEIGHTS_PER_VALUE * BYTES_PER_WEIGHT)
    return int(patterns + n_jobs * per_thread + model)


def available_bytes() -> int | None:
    """Memory this process can still get; None where the system does not say."""
    limits = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) * 1024)
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits) if limits else None


def check_memory(X: Sparse, tree: LabelTree, carried: list[Pattern], n_jobs: int) -> None:
    """Refuse to start what would not end."""
    available = available_bytes()
    needed = estimate_bytes(X, tree, carried, n_jobs)
    if available is not None and needed > available:
        raise ResourceError(
            f"training needs about {needed / GIB:.1f} GiB beyond the data, and "
            f"{available / GIB:.1f} GiB are free: use fewer threads (now {n_jobs}), fewer "
            "features (max_features, min_df), or a larger solver threshold with max_nonzeros"
        )
