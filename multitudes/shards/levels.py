"""The rankers of a tree, some clusters at a time, each from the instances it learns from.

Stages:

    slots       Y by slot of the tree, per piece, and what each cluster will cost
    rankers     the weights of some clusters of one level
    weights     a level's arrays, as the store keeps them: their file, and its checksums

A machine copies the rows of X that its clusters learn from out of the pieces, and nothing else; the
weights go to files, so that the driver never sees them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitudes.distinct import distinct
from multitudes.engine import Cluster
from multitudes.kernels.lanes import WIDE
from multitudes.labels import LabelTree
from multitudes.linear.level_labels import Pattern
from multitudes.linear.level_weights import LevelWeights
from multitudes.linear.tasks import SolverConfig
from multitudes.linear.train_children import Buffers
from multitudes.linear.train_level import LevelJob
from multitudes.linear.train_tree import lanes_of
from multitudes.shards.pieces import Pieces
from multitudes.shards.run import Arrays, Run, Stage
from multitudes.store import State
from multitudes.store.checksums import FileEntry, entry_of_arrays
from multitudes.store.state import StoredArrays
from multitudes.types import IntArray, LabelArray

SHARE = 1 / 128
"""A piece of work is at most this part of all, where clusters are not larger themselves."""
LARGEST = float(1 << 24)
"""Nor more values than this: some seconds."""


@dataclass(frozen=True)
class TreeWork:
    """What is trained: a tree over the pieces of a run, and how."""

    pieces: Pieces
    tree: LabelTree
    solver: SolverConfig
    weights: str
    random_state: int

    @cached_property
    def slot_of_label(self) -> LabelArray:
        """The place of each label in the leaves; a label has one."""
        slots = np.empty(self.tree.n_labels, np.int32)
        slots[self.tree.slot_labels] = np.arange(self.tree.n_slots, dtype=np.int32)
        return slots

    @cached_property
    def by_slot(self) -> list[tuple[LabelArray, LabelArray]]:
        """(slot, row) pairs of each piece, by slot, mapped."""
        found = [self.pieces.run.read(SLOTS.name, i) for i in range(len(self.pieces))]
        return [(own["slots"], own["rows"]) for own in found]

    def first_slots(self, level: int) -> IntArray:
        """Where the slots below each cluster of a level begin, and where the last end."""
        offsets: IntArray = np.arange(self.tree.n_slots + 1, dtype=np.int64)
        for below in reversed(self.tree.offsets[level:]):
            offsets = offsets[below]
        return offsets

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what can be computed again."""
        return {k: v for k, v in vars(self).items() if k not in ("by_slot", "slot_of_label")}


def sort_slots(run: Run, work: TreeWork, number: int) -> Arrays:
    """Y of a piece by slot; and, for the clusters of each level, members and values to read."""
    piece = work.pieces.mapped[number]
    slots, rows = work.slot_of_label[piece["labels"]], piece["rows"]
    order = np.argsort(slots, kind="stable")  # rows ascend within a label, and so within a slot
    slots, rows = slots[order], rows[order]
    lengths = np.diff(piece["indptr"])
    out = {"slots": slots, "rows": rows}
    for level in range(work.tree.depth):
        starts = work.first_slots(level)
        n_clusters = len(starts) - 1
        if level == 0:  # the root learns from all instances, those without labels too
            sizes = np.array([[len(lengths)], [int(lengths.sum())]], np.int64)
        else:
            clusters = np.searchsorted(starts, slots, side="right") - 1
            members = distinct(clusters * np.int64(len(lengths)) + rows)
            clusters, own = members // len(lengths), members % len(lengths)
            sizes = np.stack([
                np.bincount(clusters, minlength=n_clusters),
                np.bincount(clusters, weights=lengths[own], minlength=n_clusters).astype(np.int64),
            ])  # fmt: skip
        out[f"sizes_{level}"] = sizes
    return out


SLOTS = Stage("slots", "sorting labels by leaf", sort_slots)


class Clusters(NamedTuple):
    """Consecutive clusters of one level: a piece of work."""

    level: int
    first: int
    stop: int


def cut_work(work: TreeWork) -> tuple[list[Clusters], list[float]]:
    """Cut all levels into pieces of work of at most about one size, and say what each costs."""
    costs = []
    for level in range(work.tree.depth):
        found = [
            work.pieces.run.read(SLOTS.name, i)[f"sizes_{level}"] for i in range(len(work.pieces))
        ]
        members, values = np.sum(found, axis=0)
        blocks = -(-np.diff(work.tree.offsets[level]) // len(WIDE))
        costs.append((members + values) * blocks + 1.0)
    share = min(sum(float(own.sum()) for own in costs) * SHARE, LARGEST)
    items, item_costs = [], []
    for level, own in enumerate(costs):
        first, cost = 0, 0.0
        for cluster, more in enumerate(own.tolist()):
            if cost and cost + more > share:
                items.append(Clusters(level, first, cluster))
                item_costs.append(cost)
                first, cost = cluster, 0.0
            cost += more
        items.append(Clusters(level, first, len(own)))
        item_costs.append(cost)
    return items, item_costs


def train_clusters(run: Run, work: TreeWork, item: Clusters) -> Arrays:
    """Return the weights of some clusters of a level, as the store keeps a level."""
    job = level_job(work, item)
    prepared = job.prepare()
    buffers = Buffers(work.pieces.n_features, prepared.room)
    found = [prepared.run(task, buffers) for task in prepared.tasks]
    chunks = prepared.joined(found, put=lambda chunk: chunk)
    level = LevelWeights.from_chunks(chunks, np.diff(job.members.indptr))
    return dict(level.converted(work.weights, job.offsets).to_state().arrays)


RANKERS = Stage("rankers", "training", train_clusters)


def level_job(work: TreeWork, item: Clusters) -> LevelJob:
    """Return some clusters as a level of their own, over the instances that they learn from."""
    tree, pieces = work.tree, work.pieces
    level, first, stop = item
    offsets = tree.offsets[level][first : stop + 1]
    starts = work.first_slots(level)
    slots, instances = pieces.pairs(work.by_slot, int(starts[first]), int(starts[stop]))
    if level == 0:
        needed = np.arange(pieces.n_instances, dtype=np.int32)
        local: npt.NDArray[Any] = instances
    else:
        needed, local = np.unique(instances, return_inverse=True)
    children = np.searchsorted(work.first_slots(level + 1), slots, side="right") - 1 - offsets[0]
    n_children = int(offsets[-1] - offsets[0])
    carried = _pattern(local, children, len(needed), n_children)
    if level == 0:
        members = Pattern(np.array([0, len(needed)], np.int64), needed, len(needed))
    else:
        clusters = np.searchsorted(offsets - offsets[0], children, side="right") - 1
        members = _pattern(clusters, local, stop - first, len(needed))
    return LevelJob(
        pieces.training_set(needed),
        carried,
        members,
        offsets - offsets[0],
        solver=work.solver.of_level(level, tree.depth),
        random_state=work.random_state + level,
        first_cluster=first,
        weights=work.weights,
        lanes=lanes_of(work.solver, tree, level),
    )


def _pattern(
    rows: npt.NDArray[Any], columns: npt.NDArray[Any], n_rows: int, n_columns: int
) -> Pattern:
    """Return the pattern of (row, column) pairs, each counted once."""
    keys = distinct(rows.astype(np.int64) * n_columns + columns)
    rows, columns = np.divmod(keys, n_columns)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
    return Pattern(indptr.astype(np.int64), columns.astype(np.int32), n_columns)


def join_level(run: Run, items: list[Clusters], level: int) -> Arrays:
    """Put the weights of a level together, out of mapped files; return the checksums of the file.

    It is the file of the model: whoever saves that has nothing to copy, to read, or to wait for.
    """
    numbers = [i for i, item in enumerate(items) if item.level == level]
    parts = [run.read(RANKERS.name, number) for number in numbers]
    run.write(LEVELS, level, parts, durable=True)
    about = json.dumps(asdict(entry_of_arrays(parts)))
    return {"checksums": np.frombuffer(about.encode(), np.uint8)}


LEVELS = "levels"
"""Where the arrays of each level are."""
WEIGHTS = Stage("weights", "joining weights", join_level)


def stored_level(run: Run, level: int) -> State:
    """Return the arrays of a level, mapped; the store links their file."""
    entry = FileEntry(**json.loads(run.read(WEIGHTS.name, level)["checksums"].tobytes()))
    state = State("level-weights", arrays=run.read(LEVELS, level))
    state.note_stored(StoredArrays(run.file(LEVELS, level), entry))
    return state


def train_levels(cluster: Cluster, work: TreeWork) -> None:
    """Train all rankers of a tree: see `stored_level`."""
    run, pieces = work.pieces.run, work.pieces
    sizes = [float(b - a) for a, b in zip(pieces.starts, pieces.starts[1:], strict=False)]
    run.map(cluster, SLOTS, work, range(len(pieces)), costs=sizes)
    items, costs = cut_work(work)
    run.map(cluster, RANKERS, work, items, costs=costs)
    levels = range(work.tree.depth)
    run.map(cluster, WEIGHTS, items, levels, costs=[float(level + 1) for level in levels])
