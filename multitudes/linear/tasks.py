"""What rankers are trained on, and how: the solver, the instances, and tasks of bounded size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from multitudes.config import Config, among, between, setting
from multitudes.kernels.lanes import LANES
from multitudes.types import FloatArray, IntArray, Sparse

BLOCK = 1 << 16  # instances that are looked at together
LARGEST = 1e12  # of a setting: its products with weights and values stay finite


@dataclass(frozen=True)
class SolverConfig(Config):
    """How a cluster's rankers are trained: as XR-Linear's, but for when to stop and for leaves."""

    loss: str = setting(
        "squared-hinge",
        "Loss of a ranker.",
        choices=("squared-hinge", "hinge", "logistic"),
        search=among("squared-hinge", "hinge", "logistic"),
    )
    cost: float = setting(
        1.0,
        "Weight of the loss against the L2 penalty (C).",
        above=0,
        at_most=LARGEST,
        search=between(0.1, 10.0, log=True),
    )
    positive_weight: float = setting(
        1.0,
        "Factor on the cost of positives.",
        above=0,
        at_most=LARGEST,
        search=between(0.5, 8.0, log=True),
    )
    negative_weight: float = setting(
        1.0, "Factor on the cost of negatives.", above=0, at_most=LARGEST
    )
    bias: float = setting(
        1.0, "Value of the constant feature; 0 for none.", at_least=0, at_most=LARGEST
    )
    epsilon: float = setting(
        0.3,
        "A ranker is done when its projected gradients span less; libpecos has 0.1.",
        above=0,
        at_most=LARGEST,
        search=between(0.01, 1.0, log=True),
    )
    epsilon_growth: float = setting(
        0.2,
        "Clusters of n > 1,024 instances have (n / 1,024) to this power times `epsilon`; 0 for "
        "the same in all, as in libpecos.",
        at_least=0,
        at_most=1,
    )
    max_epochs: int = setting(
        100, "Passes over a cluster's instances at most.", at_least=1, at_most=1_000_000_000
    )
    threshold: float = setting(
        0.1,
        "Weights up to this magnitude are dropped.",
        at_least=0,
        at_most=LARGEST,
        search=between(0.01, 0.3, log=True),
    )
    leaf_threshold: float = setting(
        0.6,
        "In leaves, weights are dropped up to this part of `threshold`; 1 for the same in all, as "
        "in libpecos.",
        at_least=0,
        at_most=1,
    )
    max_nonzeros: int | None = setting(
        None, "Weights kept per label at most, the largest.", at_least=1, at_most=1_000_000_000
    )

    def of_level(self, level: int, depth: int) -> SolverConfig:
        """Return how the rankers of one level of a tree are trained; the last holds the leaves."""
        if level < depth - 1:
            return self
        return self.replaced(threshold=self.threshold * self.leaf_threshold)


@dataclass(frozen=True)
class TrainingSet:
    """Features and weights of the instances, as the kernels read them.

    Parameters
    ----------
    indptr, indices, data : the CSR arrays of X: int64, int32, float32
    square : float32 array (n_instances,)
        Squared length of each row.
    weight : float32 array (n_instances,)
        Weight of each instance, > 0.
    n_features : int
    n_all : (int, int), optional
        Instances and values of the whole data, if these are some of them: what is done with a
        cluster must not depend on which others are at hand.
    """

    indptr: IntArray
    indices: Any
    data: FloatArray
    square: FloatArray
    weight: FloatArray
    n_features: int
    n_all: tuple[int, int] | None = None

    @property
    def n_instances(self) -> int:
        """Instances of the whole data."""
        return len(self.weight) if self.n_all is None else self.n_all[0]

    @property
    def n_values(self) -> int:
        """Values of the whole data."""
        return len(self.indices) if self.n_all is None else self.n_all[1]

    @classmethod
    def of(cls, X: Sparse, weight: FloatArray | None = None) -> TrainingSet:
        """From a CSR matrix with sorted indices."""
        n = X.shape[0]
        data = X.data.astype(np.float32, copy=False)
        indptr = X.indptr.astype(np.int64)
        square = np.zeros(n, np.float32)
        for start in range(0, n, BLOCK):  # X may be larger than memory
            rows = indptr[start : start + BLOCK + 1]
            values = data[rows[0] : rows[-1]]
            filled = np.flatnonzero(np.diff(rows))
            if len(filled):
                sums = np.add.reduceat(values * values, rows[filled] - rows[0])
                square[start + filled] = sums
        weight = np.ones(n, np.float32) if weight is None else weight
        return cls(indptr, X.indices.astype(np.int32, copy=False), data, square, weight, X.shape[1])


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
