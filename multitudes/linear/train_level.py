"""Train the clusters of one or more levels: tasks of bounded size, run by threads or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.engine import current_cluster
from multitudes.files.large import Shelf
from multitudes.kernels.lanes import LANES, WIDE
from multitudes.kernels.threads import ThreadBuffers, ThreadTeam
from multitudes.linear.level_labels import Pattern
from multitudes.linear.level_weights import Chunk, LevelWeights, columns_of, join_parts, packed
from multitudes.linear.old_weights import OldWeights, with_untouched
from multitudes.linear.tasks import SolverConfig, Task, TrainingSet, cut_tasks
from multitudes.linear.train_children import (
    Buffers,
    is_gathered,
    kept_weights,
    train_children,
)
from multitudes.progress import track
from multitudes.types import FloatArray, IntArray

LARGE_LEVEL = 1 << 23
"""Cost of the tasks of a level from which its weights may take as much as a shelf's first pages."""


@dataclass(frozen=True, eq=False)
class LevelJob:
    """What is to be trained of one level.

    Parameters
    ----------
    training : TrainingSet
    carried : Pattern (n_instances, n_children)
        The positives of each child.
    members : Pattern (n_clusters, n_instances)
        The instances each cluster trains on; those that do not carry a child are its negatives.
    offsets : int64 array (n_clusters + 1,)
        Children of each cluster.
    solver : SolverConfig
    label_weight : float32 array (n_children,), optional
        Factor on the cost of each child.
    random_state : int
    clusters : int array, optional
        Train only these; all by default.
    from_children : int array (len(clusters),), optional
        Train only the children from this one on, counted within each cluster.
    start : sequence of OldWeights, one per cluster of the level, optional
        Rankers start from and are held to these instead of to zero.
    lanes : WIDE or NARROW
        Children trained at once; narrow ones save memory where clusters have few children.
    first_cluster : int
        The number of the first of these clusters in its level, if they are some of it.
    weights : str
        How the level is stored in the end: trained weights take no more room than they need.
    """

    training: TrainingSet
    carried: Pattern
    members: Pattern
    offsets: IntArray
    solver: SolverConfig
    label_weight: FloatArray | None = None
    random_state: int = 0
    clusters: IntArray | None = None
    from_children: IntArray | None = None
    start: Sequence[OldWeights] | None = None
    lanes: tuple[int, ...] = WIDE
    first_cluster: int = 0
    weights: str = "float32"

    def prepare(self) -> PreparedJob:
        """Return the job with its costs, cut into tasks."""
        offsets, solver = self.offsets, self.solver
        clusters = np.arange(len(offsets) - 1) if self.clusters is None else self.clusters
        weight = np.ones(int(offsets[-1])) if self.label_weight is None else self.label_weight
        lengths = np.diff(self.training.indptr)
        sizes = np.array([lengths[self.members.row(c)].sum() for c in clusters], np.int64)
        n_members = np.diff(self.members.indptr)[clusters]
        gathered = is_gathered(n_members, self.training, self.start is not None)
        n_children = np.diff(offsets)[clusters]
        first = np.zeros_like(n_children) if self.from_children is None else self.from_children
        tasks, costs = cut_tasks(sizes, n_members, first, n_children, self.training.n_features)
        return PreparedJob(
            self,
            clusters,
            padded(solver.cost * solver.positive_weight * weight),
            padded(solver.cost * solver.negative_weight * weight),
            tasks,
            costs,
            int(sizes[gathered].max(initial=0)),
            int(np.diff(offsets).max(initial=0)),
        )


def padded(costs: npt.NDArray[np.floating[Any]]) -> FloatArray:
    """Return the costs of children as float32, ones behind them: any block can read 16."""
    return np.append(costs, np.ones(LANES)).astype(np.float32)


@dataclass(frozen=True, eq=False)
class PreparedJob:
    """A `LevelJob` cut into tasks; `room` is the number of values of its largest gathered task."""

    job: LevelJob
    clusters: IntArray
    cost_positive: FloatArray
    cost_negative: FloatArray
    tasks: list[Task]
    costs: list[float]
    room: int
    most_children: int

    def run(self, task: Task, buffers: Buffers) -> Chunk:
        """Train one task's children."""
        job, cluster = self.job, int(self.clusters[task.cluster])
        start = None if job.start is None else job.start[cluster]
        w, features = train_children(
            job.training, job.carried, job.members.row(cluster), int(job.offsets[cluster]), task,
            costs=(self.cost_positive, self.cost_negative), solver=job.solver,
            random_state=seed_of(job.random_state, job.first_cluster + cluster), buffers=buffers,
            lanes=job.lanes, start=start,
        )  # fmt: skip
        chunk = kept_weights(w, features, task, job.solver, job.lanes)
        if start is not None:
            return with_untouched(chunk, start.chunk, features, task)
        return packed(chunk, job.weights, self.most_children)

    def joined(self, found: Sequence[Chunk], put: Callable[[Chunk], Chunk]) -> list[Chunk]:
        """Join the chunks of the tasks, one per cluster; `put` those that are new."""
        parts: list[list[Chunk]] = [[] for _ in self.clusters]
        for task, chunk in zip(self.tasks, found, strict=True):
            parts[task.cluster].append(chunk)
        return [join_parts(own) if len(own) == 1 else put(join_parts(own)) for own in parts]


def run_jobs(
    jobs: Sequence[LevelJob], team: ThreadTeam, *, description: str = "training"
) -> list[list[Chunk]]:
    """Train several levels at once, longest tasks first: the chunks of each job's clusters."""
    prepared = [job.prepare() for job in jobs]
    todo = [(j, t) for j, job in enumerate(prepared) for t in range(len(job.tasks))]
    costs = np.concatenate([job.costs for job in prepared])
    longest_first = np.argsort(-costs, kind="stable").tolist()
    cluster, buffers = current_cluster(), ThreadBuffers()
    shelves = [shelves_for(job) for job in prepared]

    def put(job: int, chunk: Chunk) -> Chunk:
        return Chunk(*(s.kept(own) for s, own in zip(shelves[job], chunk, strict=True)))

    def run(number: int) -> Chunk:
        own = buffers.get("training", lambda: buffers_for(prepared))
        chunk = run_task(prepared, todo[number], own)
        progress.advance(costs[number])
        return put(todo[number][0], chunk)

    with track(description, total=float(costs.sum()), unit="") as progress:
        if cluster is None:
            chunks = team.map(run, longest_first)
        else:
            chunks = cluster.map(
                run_tasks,
                prepared,
                [todo[number] for number in longest_first],
                costs=costs[longest_first].tolist(),
                advance=progress.advance,
            )
    found = dict(zip(longest_first, chunks, strict=True))
    of_job: list[list[Chunk]] = [[] for _ in jobs]
    for number, (job, _) in enumerate(todo):
        of_job[job].append(found.pop(number))
    return [
        job.joined(own, partial(put, j))
        for j, (job, own) in enumerate(zip(prepared, of_job, strict=True))
    ]


def shelves_for(job: PreparedJob) -> list[Shelf]:
    """Return where each array of a level's chunks is put down.

    Large ones apart: joined one by one, they are let go of one by one.
    """
    if sum(job.costs) < LARGE_LEVEL:
        return [Shelf()] * len(Chunk._fields)
    return [Shelf() for _ in Chunk._fields]


def run_tasks(prepared: Sequence[PreparedJob], todo: Sequence[tuple[int, int]]) -> list[Chunk]:
    """Train some tasks of some jobs, one after the other: what a machine of a cluster does."""
    buffers = buffers_for(prepared)
    return [run_task(prepared, one, buffers) for one in todo]


def run_task(prepared: Sequence[PreparedJob], one: tuple[int, int], buffers: Buffers) -> Chunk:
    """Train a task, given as the numbers of its job and of the task in it."""
    job, task = one
    return prepared[job].run(prepared[job].tasks[task], buffers)


def buffers_for(prepared: Sequence[PreparedJob]) -> Buffers:
    """Return a thread's buffers, large enough for any task of the jobs."""
    room = max(job.room for job in prepared)
    return Buffers(prepared[0].job.training.n_features, room)


def train_levels(
    jobs: Sequence[LevelJob], team: ThreadTeam, *, description: str = "training"
) -> list[LevelWeights]:
    """Train whole levels, all their clusters."""
    found = run_jobs(jobs, team, description=description)

    def join(number: int) -> LevelWeights:
        columns, found[number] = columns_of(found[number]), []  # let go of when they are joined
        return LevelWeights.from_columns(columns, np.diff(jobs[number].members.indptr))

    return team.map(join, range(len(jobs)))


def seed_of(random_state: int, cluster: int) -> int:
    """Return a seed for each cluster, far from those of its neighbors."""
    return int(random_state) * 0x9E3779B97F4A7C15 + cluster * 0xD1342543DE82EF95
