"""Train some children of one cluster: gather its instances, solve block by block, keep weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.files.large import new_array
from multitudes.kernels.lanes import WIDE, aligned_floats
from multitudes.kernels.solver.clusters import Scratch, count_kept, fill_kept, prepare_rows
from multitudes.kernels.solver.dual_descent import positives, solve_lanes
from multitudes.kernels.solver.logistic_descent import solve_logistic_lanes
from multitudes.linear.level_labels import Pattern
from multitudes.linear.level_weights import Chunk
from multitudes.linear.old_weights import OldWeights, hold
from multitudes.linear.tasks import SolverConfig, Task, TrainingSet
from multitudes.types import FloatArray, LabelArray

LARGEST_COPY = 1 << 24
"""Values of X up to which every cluster is copied: 128 MB for each thread."""

MANY_INSTANCES = 1 << 10
"""Clusters of more instances are trained to a looser tolerance: `epsilon_growth` of the solver.

What ends training is the span of all projected gradients, the extreme ones: the more instances, the
farther these lie apart, while the rankers are as good.
"""


def train_children(
    training: TrainingSet,
    carried: Pattern,
    rows: LabelArray,
    first_child: int,
    task: Task,
    *,
    costs: tuple[FloatArray, FloatArray],
    solver: SolverConfig,
    random_state: int,
    buffers: Buffers,
    lanes: tuple[int, ...] = WIDE,
    start: OldWeights | None = None,
) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    """Train some children of one cluster.

    Returns
    -------
    w : float32 array (n_blocks, (n_local + 1) * width)
        Weights of each block of 16 or 4 children; the last of a block are the constant feature's.
    features : int32 array (n_local,)
        Global ids of the local features. Both are overwritten by the next call with the same
        `buffers`.
    """
    n, scratch = len(rows), buffers.scratch
    begin, middle, finish = (np.empty(n, np.int64) for _ in range(3))
    alone, square, weight = (np.empty(n, np.float32) for _ in range(3))
    gathered = bool(is_gathered(n, training, start is not None))
    # The features of a single instance need no weights while training, unless they start with some.
    apart = start is None and solver.loss != "logistic"
    n_local = prepare_rows(
        training.indptr, training.indices, training.data,
        training.square, training.weight, rows, gathered, apart, *scratch,
        begin, middle, finish, alone, square, weight,
    )  # fmt: skip
    square += np.float32(solver.bias**2)
    local = scratch.local if gathered else training.indices
    value = scratch.value if gathered else training.data
    features = scratch.feature_of[:n_local]
    n_children = task.to_child - task.from_child
    width = len(lanes)
    w = buffers.weights(-(-n_children // width), (n_local + 1) * width)
    shared = (n_local - int((finish - middle).sum())) * width
    w[:, :shared] = w[:, n_local * width :] = 0  # the solver writes those of single instances
    bias, firmness = np.float32(solver.bias), None
    if start is not None:
        firmness = hold(w, begin, finish, local, value, square, features, start, task, solver)
        bias /= firmness[-1]
    solve, options, more = solver_of(solver, (middle, alone, lanes))
    alpha, order = aligned_floats(n * width), np.empty(n, np.int32)
    mask = np.empty((len(w), n), np.int32)
    own_first = first_child + task.from_child
    tolerance = np.float32(tolerance_of(solver, n))
    positives(carried.indptr, carried.indices, rows, own_first, n_children, width, mask)
    for block in range(len(w)):
        first = task.from_child + block * width
        count = min(width, task.to_child - first)
        yes, no = (cost[first_child + first :][:width] for cost in costs)
        alpha.fill(0)
        solve(
            begin, finish, local, value, square, weight, mask[block], yes, no, *options,
            bias, tolerance, solver.max_epochs,
            np.int32((1 << count) - 1), scrambled(random_state + first), n_local, w[block],
            alpha, order, *more,
        )  # fmt: skip
    if firmness is not None:
        w /= np.repeat(firmness, width)
    return w, features


def tolerance_of(solver: SolverConfig, n_instances: int) -> float:
    """Return what the projected gradients of a cluster of so many instances may span."""
    times = max(n_instances / MANY_INSTANCES, 1.0) ** solver.epsilon_growth
    return float(solver.epsilon * times)


def is_gathered(n_members: Any, training: TrainingSet, updating: bool) -> Any:
    """Return whether a cluster's rows are copied and their features renumbered.

    A cluster of most instances has nearly all features: if they are too many for a copy, its rows
    are read where they are, unless an update must rescale them.
    """
    few = training.n_values <= LARGEST_COPY
    return (2 * np.asarray(n_members) <= training.n_instances) | few | updating


def solver_of(
    solver: SolverConfig, more: tuple[Any, ...]
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return the kernel of a loss, and its own arguments before and after the common ones."""
    if solver.loss == "logistic":
        return solve_logistic_lanes, (), ()
    return solve_lanes, (solver.loss == "squared-hinge",), more


def kept_weights(
    w: FloatArray,
    features: npt.NDArray[np.int32],
    task: Task,
    solver: SolverConfig,
    lanes: tuple[int, ...] = WIDE,
) -> Chunk:
    """Keep the trained weights above the threshold, and of each child the largest.

    Parameters
    ----------
    w : float32 array (n_blocks, (n_local + 1) * width)
        From `train_children`.
    features : int32 array (n_local,)
        Global ids of the local features.
    """
    n_children = task.to_child - task.from_child
    n_local = len(features)
    width = len(lanes)
    cut = np.full(len(w) * width, np.inf, np.float32)
    cut[:n_children] = solver.threshold
    if solver.max_nonzeros is not None and solver.max_nonzeros < n_local:
        for child in range(n_children):
            column = np.abs(w[child // width, child % width : n_local * width : width])
            bound = np.partition(column, n_local - solver.max_nonzeros - 1)
            cut[child] = max(cut[child], bound[n_local - solver.max_nonzeros - 1])
    kept = np.empty(n_local, np.int64)
    n_rows, n_entries = count_kept(w, n_local, cut, kept, lanes)
    chunk = Chunk(
        np.empty(n_rows, np.int32),
        np.empty(n_rows + 1, np.int64),
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.float32),
        np.float32(solver.bias) * w[:, n_local * width :].ravel()[:n_children],
    )
    order = kept[:n_rows][np.argsort(features[kept[:n_rows]])]
    fill_kept(w, order, features, cut, task.from_child, *chunk[:4], lanes)
    return chunk


class Buffers:
    """What one thread reuses from task to task.

    Fresh memory would have to be cleared by the system, page by page, for every task.
    """

    def __init__(self, n_features: int, room: int) -> None:
        self.scratch = Scratch(
            np.full(n_features, -1, np.int32),
            np.empty(n_features, np.int32),
            new_array(room, np.int32),
            new_array(room, np.float32),
        )
        self._weights = np.empty(0, np.float32)

    def weights(self, n_blocks: int, width: int) -> FloatArray:
        """Return an array (n_blocks, width) with anything in it."""
        if self._weights.size < n_blocks * width:
            self._weights = np.empty(0, np.float32)  # let go before asking for more
            self._weights = aligned_floats(n_blocks * width)
        return self._weights[: n_blocks * width].reshape(n_blocks, width)


def scrambled(random_state: int) -> np.uint64:
    """Return a 64-bit seed whose bits all depend on all bits of another; never 0 (splitmix64)."""
    z = (random_state + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return np.uint64((z ^ (z >> 31)) or 1)
