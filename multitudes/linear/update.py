"""Change a trained tree instead of training it again: new instances, new labels, fewer labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.kernels.threads import ThreadTeam
from multitudes.labels import LabelTree
from multitudes.linear.level_labels import Pattern, children_by_level, everywhere, pattern_of
from multitudes.linear.level_weights import Chunk, LevelWeights, ends, join_parts
from multitudes.linear.old_weights import OldWeights
from multitudes.linear.scoring import Scoring
from multitudes.linear.search_index import SearchIndex
from multitudes.linear.tasks import SolverConfig, TrainingSet
from multitudes.linear.train_level import LevelJob, run_jobs
from multitudes.types import IntArray, Sparse

# Instances without a new label that a leaf's new labels are told apart from: popular leaves hold
# tens of thousands, and a sample teaches nearly as much.
MAX_NEGATIVES = 2000


def refit_clusters(
    tree: LabelTree,
    levels: Sequence[LevelWeights],
    X: Sparse,
    Y: Sparse,
    *,
    solver: SolverConfig,
    weights: str,
    random_state: int,
    team: ThreadTeam,
) -> list[LevelWeights]:
    """Train the clusters that new instances touch, starting from and held to their old weights."""
    training = TrainingSet.of(X)
    carried = children_by_level(pattern_of(Y), tree)
    updated = []
    for level, old in enumerate(levels):
        members = carried[level - 1] if level else everywhere(X.shape[0])
        by_cluster = members.transposed()
        touched = np.flatnonzero(np.diff(by_cluster.indptr))
        offsets = tree.offsets[level]
        chunks = [old.chunk(c, int(a), int(b - a)) for c, (a, b) in enumerate(pairs(offsets))]
        new = np.diff(by_cluster.indptr)
        job = LevelJob(
            training,
            carried[level],
            by_cluster,
            offsets,
            solver=solver,
            random_state=random_state + level,
            clusters=touched,
            start=[OldWeights(*pair) for pair in zip(chunks, old.seen.tolist(), strict=True)],
        )
        (trained,) = run_jobs([job], team, description=f"updating level {level + 1}")
        for cluster, chunk in zip(touched.tolist(), trained, strict=True):
            chunks[cluster] = chunk
        updated.append(LevelWeights.from_chunks(chunks, old.seen + new).converted(weights, offsets))
    return updated


def add_labels(
    tree: LabelTree,
    levels: Sequence[LevelWeights],
    X: Sparse,
    Y: Sparse,
    label_features: Sparse | None,
    *,
    solver: SolverConfig,
    weights: str,
    scoring: Scoring,
    random_state: int,
    team: ThreadTeam,
) -> tuple[LabelTree, list[LevelWeights]]:
    """Put new labels into leaves and train their rankers alone; see `TreeEstimator.add_labels`."""
    leaves = nearest_leaves(tree, levels, X, Y, label_features, scoring=scoring, team=team)
    larger = grown_tree(tree, leaves)
    training = TrainingSet.of(X)
    patterns = children_by_level(pattern_of(Y), larger)
    carried = patterns[-1]
    members = patterns[-2] if larger.depth > 1 else everywhere(X.shape[0])
    touched = np.unique(leaves)
    old_counts = np.diff(tree.offsets[-1])
    job = LevelJob(
        training,
        carried,
        with_fewer_negatives(members.transposed(), touched, Y[:, tree.n_labels :], random_state),
        larger.offsets[-1],
        solver=solver,
        random_state=random_state + tree.depth - 1,
        clusters=touched,
        from_children=old_counts[touched],
    )
    (trained,) = run_jobs([job], team, description="training new labels")
    old = levels[-1]
    chunks = [old.chunk(c, int(a), int(b - a)) for c, (a, b) in enumerate(pairs(tree.offsets[-1]))]
    for leaf, chunk in zip(touched.tolist(), trained, strict=True):
        chunks[leaf] = join_parts([chunks[leaf], chunk])
    last = LevelWeights.from_chunks(chunks, old.seen).converted(weights, larger.offsets[-1])
    return larger, [*levels[:-1], last]


def with_fewer_negatives(
    by_leaf: Pattern, leaves: IntArray, Y_new: Sparse, random_state: int
) -> Pattern:
    """Return the instances of each leaf: those with a new label, and a sample of the others.

    Parameters
    ----------
    by_leaf : Pattern (n_leaves, n_instances)
    Y_new : CSR (n_instances, n_new)
    """
    carries_new = np.diff(Y_new.indptr) > 0
    rng = np.random.default_rng(random_state)
    rows = [np.zeros(0, np.int32)] * by_leaf.n_rows
    for leaf in leaves.tolist():
        own = by_leaf.row(leaf)
        others = own[~carries_new[own]]
        if len(others) > MAX_NEGATIVES:
            others = rng.choice(others, MAX_NEGATIVES, replace=False)
        rows[leaf] = np.sort(np.concatenate([own[carries_new[own]], others]))
    return Pattern(ends([len(own) for own in rows]), np.concatenate(rows), by_leaf.n_columns)


def nearest_leaves(
    tree: LabelTree,
    levels: Sequence[LevelWeights],
    X: Sparse,
    Y: Sparse,
    label_features: Sparse | None,
    *,
    scoring: Scoring,
    team: ThreadTeam,
) -> IntArray:
    """Return the leaf of each new label: where the tree leads most of its instances, and its text.

    A label with neither goes to the smallest leaf.
    """
    n_new = Y.shape[1] - tree.n_labels
    if tree.depth == 1:
        return np.zeros(n_new, np.int64)
    Y_new = sp.csc_array(Y[:, tree.n_labels :])
    carrying = np.unique(Y_new.indices)
    index = SearchIndex(tree, levels[:-1], X.shape[1])

    def led_to(rows: Sparse) -> IntArray:
        found, _ = index.search(
            rows, top_k=1, beam_width=10, scoring=scoring, n_jobs=team.n_threads
        )
        return found[:, 0].astype(np.int64)

    votes = sp.csr_array((n_new, tree.n_leaves), dtype=np.float32)
    if len(carrying):
        leaf = led_to(X[carrying])
        instance_leaf = sp.csr_array(
            (np.ones(len(leaf), np.float32), leaf, np.arange(len(leaf) + 1)),
            shape=(len(leaf), tree.n_leaves),
        )
        votes = sp.csr_array(Y_new[carrying].T @ instance_leaf)
    if label_features is not None:
        leaf = led_to(label_features)
        votes = votes + sp.csr_array(
            (np.full(n_new, 0.5, np.float32), leaf, np.arange(n_new + 1)), shape=votes.shape
        )
    smallest = int(np.argmin(np.diff(tree.offsets[-1])))
    best = np.asarray(votes.argmax(axis=1)).ravel()
    return np.where(np.diff(votes.indptr) > 0, best, smallest).astype(np.int64)


def grown_tree(tree: LabelTree, leaves: IntArray) -> LabelTree:
    """Return the tree with new labels, numbered after the old ones, at the end of their leaves."""
    old_leaf = tree.parents(tree.depth - 1)
    leaf = np.concatenate([old_leaf, leaves])
    labels = np.concatenate([tree.slot_labels, tree.n_labels + np.arange(len(leaves))])
    order = np.lexsort((labels, leaf))
    offsets = ends(np.bincount(leaf, minlength=tree.n_leaves))
    return LabelTree(
        (*tree.offsets[:-1], offsets),
        labels[order].astype(np.int32),
        tree.n_labels + len(leaves),
    )


def remove_labels(
    tree: LabelTree, levels: Sequence[LevelWeights], dropped: IntArray
) -> tuple[LabelTree, list[LevelWeights]]:
    """Return the tree and weights without some labels; leaves may become empty."""
    kept_label = np.ones(tree.n_labels, bool)
    kept_label[dropped] = False
    new_id = np.cumsum(kept_label) - 1
    kept = kept_label[tree.slot_labels]
    counts = np.bincount(tree.parents(tree.depth - 1)[kept], minlength=tree.n_leaves)
    smaller = LabelTree(
        (*tree.offsets[:-1], ends(counts)),
        new_id[tree.slot_labels[kept]].astype(np.int32),
        int(kept_label.sum()),
    )
    old = levels[-1]
    chunks = [
        without_children(old.chunk(c, int(a), int(b - a)), kept[a:b])
        for c, (a, b) in enumerate(pairs(tree.offsets[-1]))
    ]
    kept_level = LevelWeights.from_chunks(chunks, old.seen)
    last = kept_level.converted(str(old.entry_value.dtype), smaller.offsets[-1])
    return smaller, [*levels[:-1], last]


def without_children(chunk: Chunk, kept: npt.NDArray[np.bool_]) -> Chunk:
    """Return a chunk with only the children marked in `kept`, renumbered."""
    entry_kept = kept[chunk.entry_child]
    row = np.repeat(np.arange(len(chunk.row_feature)), np.diff(chunk.row_entry))[entry_kept]
    counts = np.bincount(row, minlength=len(chunk.row_feature))
    return Chunk(
        chunk.row_feature[counts > 0],
        ends(counts[counts > 0]),
        (np.cumsum(kept) - 1)[chunk.entry_child[entry_kept]],
        chunk.entry_value[entry_kept],
        chunk.bias[kept],
    )


def pairs(offsets: IntArray) -> list[tuple[int, int]]:
    """Return (first, last) of each run."""
    return list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
