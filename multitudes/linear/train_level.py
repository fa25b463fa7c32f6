"""Train all clusters of a level: cut into tasks of bounded size, run on a team of threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.kernels.chunks import count_kept, fill_kept
from multitudes.kernels.cluster_training import Scratch, prepare_rows
from multitudes.kernels.dual_descent import positives, solve_lanes
from multitudes.kernels.lanes import LANES
from multitudes.kernels.logistic_descent import solve_logistic_lanes
from multitudes.kernels.threads import ThreadTeam
from multitudes.linear.level_labels import Pattern
from multitudes.linear.level_weights import Chunk, LevelWeights, join_parts
from multitudes.linear.old_weights import OldWeights, hold, with_untouched
from multitudes.linear.solver_config import SolverConfig
from multitudes.linear.tasks import Task, cut_tasks
from multitudes.progress import track
from multitudes.types import FloatArray, IntArray, LabelArray, Sparse


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
    """

    indptr: IntArray
    indices: Any
    data: FloatArray
    square: FloatArray
    weight: FloatArray
    n_features: int

    @classmethod
    def of(cls, X: Sparse, weight: FloatArray | None = None) -> TrainingSet:
        """From a CSR matrix with sorted indices."""
        n = X.shape[0]
        data = X.data.astype(np.float32, copy=False)
        indptr = X.indptr.astype(np.int64)
        square = np.zeros(n, np.float32)
        filled = np.flatnonzero(np.diff(indptr))
        if len(filled):
            square[filled] = np.add.reduceat(data * data, indptr[filled])
        weight = np.ones(n, np.float32) if weight is None else weight
        return cls(indptr, X.indices.astype(np.int32, copy=False), data, square, weight, X.shape[1])


def train_level(
    training: TrainingSet,
    carried: Pattern,
    members: Pattern,
    offsets: IntArray,
    *,
    solver: SolverConfig,
    label_weight: FloatArray | None = None,
    seed: int = 0,
    team: ThreadTeam,
    description: str = "training",
) -> LevelWeights:
    """Train the children of every cluster of a level.

    Parameters
    ----------
    training : TrainingSet
    carried : Pattern (n_instances, n_children)
        The positives of each child.
    members : Pattern (n_clusters, n_instances)
        The instances each cluster trains on; those that do not carry a child are its negatives.
    offsets : int64 array (n_clusters + 1,)
        Children of each cluster.
    label_weight : float32 array (n_children,), optional
        Factor on the cost of each child.
    """
    chunks = train_clusters(
        training, carried, members, offsets, np.arange(len(offsets) - 1),
        solver=solver, label_weight=label_weight, seed=seed, team=team, description=description,
    )  # fmt: skip
    return LevelWeights.from_chunks(chunks, np.diff(members.indptr))


def train_clusters(
    training: TrainingSet,
    carried: Pattern,
    members: Pattern,
    offsets: IntArray,
    clusters: IntArray,
    *,
    solver: SolverConfig,
    label_weight: FloatArray | None = None,
    seed: int = 0,
    team: ThreadTeam,
    description: str = "training",
    from_children: IntArray | None = None,
    start: Sequence[OldWeights] | None = None,
) -> list[Chunk]:
    """Train some clusters of a level; returns their chunks in the order of `clusters`.

    Parameters
    ----------
    from_children : int array (len(clusters),), optional
        Train only the children from this one on, counted within each cluster.
    start : sequence of OldWeights, one per cluster of the level, optional
        Rankers start from and are held to these instead of to zero.
    """
    weight = np.ones(int(offsets[-1]), np.float32) if label_weight is None else label_weight
    cost_positive = (solver.cost * solver.positive_weight * weight).astype(np.float32)
    cost_negative = (solver.cost * solver.negative_weight * weight).astype(np.float32)
    lengths = np.diff(training.indptr)
    sizes = np.array([lengths[members.row(c)].sum() for c in clusters], np.int64)
    n_members = np.diff(members.indptr)[clusters]
    gathered = is_gathered(n_members, len(lengths), start is not None)
    room = int(sizes[gathered].max(initial=0))
    n_children = np.diff(offsets)[clusters]
    first = np.zeros_like(n_children) if from_children is None else from_children
    tasks, costs = cut_tasks(sizes, n_members, first, n_children, training.n_features)
    local = threading.local()

    def run(number: int) -> Chunk:
        if not hasattr(local, "scratch"):
            local.scratch = make_scratch(training.n_features, room)
        task = tasks[number]
        cluster = int(clusters[task.cluster])
        w, features = train_children(
            training, carried, members.row(cluster), int(offsets[cluster]), task,
            costs=(cost_positive, cost_negative), solver=solver, seed=seed_of(seed, cluster),
            scratch=local.scratch, start=None if start is None else start[cluster],
        )  # fmt: skip
        progress.advance(costs[number])
        chunk = kept_weights(w, features, task, solver)
        if start is not None:
            chunk = with_untouched(chunk, start[cluster].chunk, features, task)
        return chunk

    longest_first = np.argsort(-np.array(costs), kind="stable")
    with track(description, total=float(sum(costs)), unit="steps") as progress:
        found = team.map(run, longest_first.tolist())
    parts: list[list[Chunk]] = [[] for _ in clusters]
    by_task = dict(zip(longest_first.tolist(), found, strict=True))
    for number, task in enumerate(tasks):
        parts[task.cluster].append(by_task.pop(number))
    return [join_parts(own) for own in parts]


def train_children(
    training: TrainingSet,
    carried: Pattern,
    rows: LabelArray,
    first_child: int,
    task: Task,
    *,
    costs: tuple[FloatArray, FloatArray],
    solver: SolverConfig,
    seed: int,
    scratch: Scratch,
    start: OldWeights | None = None,
) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    """Train some children of one cluster.

    Returns
    -------
    w : float32 array (n_blocks, (n_local + 1) * 16)
        Weights of each block of 16 children; the last 16 are the constant feature's.
    features : int32 array (n_local,)
        Global ids of the local features; overwritten by the next call with the same `scratch`.
    """
    n = len(rows)
    begin, finish = np.empty(n, np.int64), np.empty(n, np.int64)
    square, weight = np.empty(n, np.float32), np.empty(n, np.float32)
    gathered = bool(is_gathered(n, len(training.weight), start is not None))
    n_local = prepare_rows(
        training.indptr, training.indices, training.data,
        training.square + np.float32(solver.bias**2), training.weight, rows, gathered,
        *scratch, begin, finish, square, weight,
    )  # fmt: skip
    local = scratch.local if gathered else training.indices
    value = scratch.value if gathered else training.data
    features = scratch.feature_of[:n_local]
    n_children = task.to_child - task.from_child
    w = np.zeros((-(-n_children // LANES), (n_local + 1) * LANES), np.float32)
    bias, firmness = np.float32(solver.bias), None
    if start is not None:
        firmness = hold(w, begin, finish, local, value, square, features, start, task, solver)
        bias /= firmness[-1]
    solve: Any = solve_logistic_lanes if solver.loss == "logistic" else solve_lanes
    squared = () if solver.loss == "logistic" else (solver.loss == "squared-hinge",)
    alpha, order = np.empty(n * LANES, np.float32), np.empty(n, np.int32)
    mask = np.empty(n, np.int32)
    for block in range(len(w)):
        first = task.from_child + block * LANES
        count = min(LANES, task.to_child - first)
        positives(carried.indptr, carried.indices, rows, first_child + first, count, mask)
        yes, no = (one_block(cost, first_child + first, count) for cost in costs)
        alpha.fill(0)
        solve(
            begin, finish, local, value, square, weight, mask, yes, no, *squared,
            bias, np.float32(solver.epsilon), solver.max_epochs,
            np.int32((1 << count) - 1), scrambled(seed + first), n_local, w[block], alpha, order,
        )  # fmt: skip
    if firmness is not None:
        w /= np.repeat(firmness, LANES)
    return w, features


def is_gathered(n_members: Any, n_instances: int, updating: bool) -> Any:
    """Whether a cluster's rows are copied and their features renumbered.

    A cluster of most instances has nearly all features: its rows are read where they are, unless
    an update must rescale them.
    """
    return (2 * np.asarray(n_members) <= n_instances) | updating


def one_block(values: FloatArray, first: int, count: int) -> FloatArray:
    """values[first : first + count], filled up with ones to 16."""
    out = np.ones(LANES, np.float32)
    out[:count] = values[first : first + count]
    return out


def kept_weights(
    w: FloatArray, features: npt.NDArray[np.int32], task: Task, solver: SolverConfig
) -> Chunk:
    """What stays of trained weights: those above the threshold, the largest of each child.

    Parameters
    ----------
    w : float32 array (n_blocks, (n_local + 1) * 16)
        From `train_children`.
    features : int32 array (n_local,)
        Global ids of the local features.
    """
    n_children = task.to_child - task.from_child
    n_local = len(features)
    cut = np.full(len(w) * LANES, np.inf, np.float32)
    cut[:n_children] = solver.threshold
    if solver.max_nonzeros is not None and solver.max_nonzeros < n_local:
        for child in range(n_children):
            column = np.abs(w[child // LANES, child % LANES : n_local * LANES : LANES])
            bound = np.partition(column, n_local - solver.max_nonzeros - 1)
            cut[child] = max(cut[child], bound[n_local - solver.max_nonzeros - 1])
    n_rows, n_entries = count_kept(w, n_local, cut)
    chunk = Chunk(
        np.empty(n_rows, np.int32),
        np.empty(n_rows + 1, np.int64),
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.float32),
        np.float32(solver.bias) * w[:, n_local * LANES :].ravel()[:n_children],
    )
    by_feature = np.argsort(features)
    fill_kept(w, by_feature, features, cut, task.from_child, *chunk[:4])
    return chunk


def make_scratch(n_features: int, room: int) -> Scratch:
    """A thread's buffers."""
    return Scratch(
        np.full(n_features, -1, np.int32),
        np.empty(n_features, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.float32),
    )


def seed_of(seed: int, cluster: int) -> int:
    """A seed for each cluster, far from those of its neighbours."""
    return seed * 0x9E3779B97F4A7C15 + cluster * 0xD1342543DE82EF95


def scrambled(seed: int) -> np.uint64:
    """A 64-bit seed whose bits all depend on all bits of another; never 0 (splitmix64)."""
    z = (seed + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return np.uint64((z ^ (z >> 31)) or 1)
