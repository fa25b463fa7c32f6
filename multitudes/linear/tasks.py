"""A level's work, cut into tasks of bounded size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multitudes.kernels.lanes import LANES
from multitudes.types import IntArray

# A cluster worth more than this share of its level is cut, so that no thread works on alone at the
# end. A constant, not the number of threads: the same cuts, and so the same weights, everywhere.
LARGEST_SHARE = 1 / 64
# Nor may the weights under training of one task outgrow this.
LARGEST_BYTES = 64 << 20


class Task(NamedTuple):
    """Some children of one cluster."""

    cluster: int
    from_child: int
    to_child: int


def cut_tasks(
    sizes: IntArray, n_members: IntArray, first: IntArray, n_children: IntArray, n_features: int
) -> tuple[list[Task], list[float]]:
    """The tasks of a level and what each costs: values read, times blocks of 16 children."""
    n_blocks = -(-(n_children - first) // LANES)
    costs = (sizes + n_members) * n_blocks
    limit = max(float(costs.sum()) * LARGEST_SHARE, 1.0)
    tasks, task_costs = [], []
    for cluster, cost in enumerate(costs):
        blocks = int(n_blocks[cluster])
        block_bytes = LANES * 4 * (min(n_features, int(sizes[cluster])) + 1)
        n_parts = max(np.ceil(cost / limit), np.ceil(blocks * block_bytes / LARGEST_BYTES), 1)
        bounds = np.linspace(0, blocks, min(int(n_parts), max(blocks, 1)) + 1).astype(int) * LANES
        for start, stop in zip(bounds[:-1] + first[cluster], bounds[1:], strict=True):
            stop = min(int(stop + first[cluster]), int(n_children[cluster]))
            tasks.append(Task(cluster, int(start), stop))
            task_costs.append(float(cost) * (stop - start) / max(blocks * LANES, 1) + 1)
    return tasks, task_costs
