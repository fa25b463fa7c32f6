"""Train a tree from the root down: which instances each cluster learns from, level by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from multitudes import memory
from multitudes.files.large import spilled_from
from multitudes.kernels import ahead
from multitudes.kernels.lanes import LANES, NARROW, WIDE
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels import LabelTree
from multitudes.linear.checkpoint import Checkpoint
from multitudes.linear.level_labels import Pattern, children_by_level, everywhere, pattern_of
from multitudes.linear.level_weights import LevelWeights, ends
from multitudes.linear.scoring import scoring
from multitudes.linear.search_index import SearchIndex
from multitudes.linear.tasks import SolverConfig, TrainingSet
from multitudes.linear.train_level import LevelJob, train_levels
from multitudes.types import FloatArray, Sparse

NEGATIVES = ("sibling", "matched", "both")
MANY_LABELS = 2_000
"""Labels from which a level of few children per cluster has a solver of its own."""


@dataclass(frozen=True, eq=False)
class TreeTask:
    """What a tree is trained on, and how; see `XRLinear` for the meaning of each."""

    X: Sparse
    Y: Sparse
    solver: SolverConfig
    negatives: str = "sibling"
    hard_negatives: Sparse | None = None
    sample_weight: FloatArray | None = None
    label_weight: FloatArray | None = None
    beam_width: int = 10
    score_function: str = "l3-hinge"
    weights: str = "float16"
    random_state: int = 0


def train_tree(
    task: TreeTask,
    tree: LabelTree,
    team: ThreadTeam,
    checkpoint: Checkpoint,
    *,
    above: Sequence[LevelWeights] = (),
    n_levels: int | None = None,
) -> list[LevelWeights]:
    """Return the weights of every level, from the root down.

    Parameters
    ----------
    checkpoint : Checkpoint
        Levels it already has are taken from there.
    above : sequence of LevelWeights
        Trained levels to keep; training begins below them.
    n_levels : int, optional
        Stop after this many levels; all by default.
    """
    ahead.need(ahead.SOLVER)
    X, Y, weight = _weighted_part(task)
    training = TrainingSet.of(X, weight)
    carried = children_by_level(pattern_of(Y), tree)
    check_memory(X, tree, carried, team.n_threads)
    extra = _hard_negatives(task, tree)
    levels = list(above)
    n_levels = tree.depth if n_levels is None else n_levels

    def match() -> Pattern:
        return _matched(task, tree, levels, X, team)

    def job(level: int) -> LevelJob:
        return LevelJob(
            training,
            carried[level],
            _members(task, level, carried, extra, match).transposed(),
            tree.offsets[level],
            solver=task.solver.of_level(level, tree.depth),
            label_weight=_child_weight(task, tree, level),
            random_state=task.random_state + level,
            lanes=lanes_of(task.solver, tree, level),
            weights=task.weights,
        )

    if task.negatives == "sibling" and not checkpoint:
        # No level waits for another: small tasks of lower levels fill the gaps of large ones above.
        jobs = [job(level) for level in range(len(levels), n_levels)]
        trained = train_levels(jobs, team) if jobs else []
        return levels + [
            weights.converted(task.weights, tree.offsets[level])
            for level, weights in enumerate(trained, start=len(levels))
        ]
    for level in range(len(levels), n_levels):
        finished = checkpoint.level(level, tree, task.X.shape[1])
        if finished is None:
            name = f"training level {level + 1} of {tree.depth}"
            (weights,) = train_levels([job(level)], team, description=name)
            finished = weights.converted(task.weights, tree.offsets[level])
            checkpoint.keep(f"level-{level}", finished)
        levels.append(finished)
    return levels


def _members(
    task: TreeTask,
    level: int,
    carried: list[Pattern],
    extra: list[Pattern] | None,
    match: Callable[[], Pattern],
) -> Pattern:
    """Return which clusters of a level learn from each instance, (n_instances, n_clusters)."""
    if level == 0:
        return everywhere(carried[0].n_rows)
    members = carried[level - 1]
    if task.negatives != "sibling":
        matched = match()
        members = matched if task.negatives == "matched" else members.union(matched)
    if extra is not None:
        members = members.union(extra[level - 1])
    return members


def _matched(
    task: TreeTask, tree: LabelTree, levels: list[LevelWeights], X: Sparse, team: ThreadTeam
) -> Pattern:
    """Return the clusters that the levels trained so far lead each instance to."""
    index = SearchIndex(tree, levels, X.shape[1])
    width = min(task.beam_width, tree.n_clusters(len(levels)))
    rule = scoring(task.score_function)
    found, _ = index.search(X, top_k=width, beam_width=width, scoring=rule, team=team)
    found.sort(axis=1)
    present = found >= 0
    return Pattern(ends(present.sum(axis=1)), found[present], tree.n_clusters(len(levels)))


def _hard_negatives(task: TreeTask, tree: LabelTree) -> list[Pattern] | None:
    if task.hard_negatives is None:
        return None
    given = task.hard_negatives
    if task.sample_weight is not None:
        given = given[task.sample_weight > 0]
    return children_by_level(pattern_of(given), tree)


def _weighted_part(task: TreeTask) -> tuple[Sparse, Sparse, FloatArray | None]:
    """Leave out instances of weight 0."""
    weight = task.sample_weight
    if weight is None or (weight > 0).all():
        return task.X, task.Y, weight
    kept = weight > 0
    return task.X[kept], task.Y[kept], weight[kept]


def lanes_of(solver: SolverConfig, tree: LabelTree, level: int) -> tuple[int, ...]:
    """Choose the lanes: clusters of a binary tree, and roots of few children, do not need 16.

    It changes no result. In a small tree with such a root alone, a second solver to compile for its
    sake would not pay.
    """
    if solver.loss == "logistic" or level == tree.depth - 1:
        return WIDE
    small = tree.n_labels < MANY_LABELS
    offsets = tree.offsets[:-1] if small else tree.offsets[level : level + 1]
    largest = max(int(np.diff(own).max()) for own in offsets)
    return NARROW if largest <= len(NARROW) else WIDE


def _child_weight(task: TreeTask, tree: LabelTree, level: int) -> FloatArray | None:
    """Return the weights of labels; clusters all weigh the same."""
    if task.label_weight is None or level < tree.depth - 1:
        return None
    return np.maximum(task.label_weight[tree.slot_labels], np.finfo(np.float32).tiny)


# Kept weights per value that a level reads, and bytes per kept weight while training: read off
# debian-deps, eurlex-titles, yso-finna-en and a million generated labels, rounded up.
WEIGHTS_PER_VALUE = 1.0
BYTES_PER_WEIGHT = 8


def estimate_bytes(X: Sparse, tree: LabelTree, carried: list[Pattern], n_jobs: int) -> int:
    """Estimate the peak bytes of training beyond X and Y: patterns, threads' work, the model."""
    lengths = np.diff(X.indptr).astype(np.int64)
    patterns = sum(2 * p.indices.nbytes + p.indptr.nbytes for p in carried)
    values_read = int(lengths.sum())
    for pattern in carried[:-1]:
        values_read += int(lengths @ np.diff(pattern.indptr))
    block = (X.shape[1] + 1) * LANES * 4
    per_thread = X.shape[0] * (LANES * 4 + 32) + 4 * block + 8 * X.shape[1]
    large = [*[4 * X.nnz] * 2 * n_jobs, int(values_read * WEIGHTS_PER_VALUE * BYTES_PER_WEIGHT)]
    most = spilled_from()
    if most is not None:  # what is larger lies on disk
        large = [min(one, most) for one in large]
    return int(patterns + n_jobs * per_thread + sum(large))


def check_memory(X: Sparse, tree: LabelTree, carried: list[Pattern], n_jobs: int) -> None:
    """Raise a ResourceError if training would not fit into memory."""
    memory.ask(
        estimate_bytes(X, tree, carried, n_jobs),
        "training, beyond the data,",
        advice=f"use fewer threads (now {n_jobs}), fewer features (max_features, min_df), or a "
        "larger solver threshold with max_nonzeros",
    )
