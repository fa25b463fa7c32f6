"""Change a trained tree instead of training it again: new instances, new labels, fewer labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.distinct import distinct
from multitudes.errors import DataError, UnknownFeaturesWarning
from multitudes.estimator import Estimator
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
from multitudes.validation import checked_labels, label_matrix

# Instances without a new label that a leaf's new labels are told apart from: popular leaves hold
# tens of thousands, and a sample teaches nearly as much.
MAX_NEGATIVES = 2000


def checked_update(model: Estimator, X: Any, y: Any) -> tuple[Sparse, Sparse]:
    """Return further instances of known labels, checked; warn of those without features."""
    X = model.known_features(X)
    Y = checked_labels(y, n_instances=X.shape[0], n_labels=model.n_labels_)
    warn_of_empty_rows(X)
    return X, Y


def checked_new_labels(
    model: Estimator, X: Any, y: Any, label_features: Any
) -> tuple[Sparse, Sparse, Sparse | None]:
    """Return instances of new labels and the features of these labels' texts, checked."""
    X, Y = checked_with_new(model, X, y)
    if not Y.nnz:
        raise DataError("no instance has a label: at least one needs one")
    n_known = model.n_labels_
    n_new = Y.shape[1] - n_known
    if label_features is not None:
        label_features = model.known_features(label_features, name="label_features")
        if label_features.shape[0] != n_new:
            raise DataError(
                f"label_features must have a row for each of the {n_new:,} new labels, "
                f"got {label_features.shape[0]:,} rows"
            )
    warn_of_empty_rows(X)
    return X, _without_unknown(X, Y, n_known), label_features


def checked_with_new(model: Estimator, X: Any, y: Any) -> tuple[Sparse, Sparse]:
    """Return instances of known and of new labels; new are the columns beyond those known."""
    X = model.known_features(X)
    Y = label_matrix(y, n_instances=X.shape[0])
    if Y.shape[1] <= model.n_labels_:
        raise DataError(
            f"y has {Y.shape[1]:,} labels, of which the model already has {model.n_labels_:,}: "
            "the new labels are the columns beyond"
        )
    return X, Y


def _without_unknown(X: Sparse, Y: Sparse, n_known: int) -> Sparse:
    """Take new labels from instances without a feature: by these any instance would be theirs."""
    row = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    kept = (np.diff(X.indptr) > 0)[row] | (Y.indices < n_known)
    if kept.all():
        return Y
    starts = ends(np.bincount(row[kept], minlength=Y.shape[0]))
    return sp.csr_array((Y.data[kept], Y.indices[kept], starts), shape=Y.shape)


def warn_of_empty_rows(X: Sparse) -> None:
    """Say how many instances of an update have no feature that the model knows."""
    n_empty = int((np.diff(X.indptr) == 0).sum())
    if n_empty:
        warnings.warn(
            f"{n_empty:,} of {X.shape[0]:,} instances have no known feature, so that next to "
            "nothing is learned from them: words that no text had when the model was first "
            "fitted stay unknown; to learn such words, fit again on all data",
            UnknownFeaturesWarning,
            stacklevel=4,  # the caller of partial_fit or add_labels
        )


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
            solver=solver.of_level(level, tree.depth),
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
    leaves: Sparse,
    *,
    solver: SolverConfig,
    weights: str,
    random_state: int,
    team: ThreadTeam,
) -> tuple[LabelTree, list[LevelWeights]]:
    """Put new labels into leaves and train their rankers alone; see `TreeEstimator.add_labels`.

    `leaves` is a CSR (n_new, n_leaves), non-zero where a new label goes.
    """
    larger = grown_tree(tree, leaves)
    training = TrainingSet.of(X)
    patterns = children_by_level(pattern_of(Y), larger)
    carried = patterns[-1]
    members = patterns[-2] if larger.depth > 1 else everywhere(X.shape[0])
    touched = distinct(leaves.indices).astype(np.int64)
    old_counts = np.diff(tree.offsets[-1])
    job = LevelJob(
        training,
        carried,
        with_fewer_negatives(members.transposed(), touched, Y[:, tree.n_labels :], random_state),
        larger.offsets[-1],
        solver=solver.of_level(tree.depth - 1, tree.depth),
        random_state=random_state + tree.depth - 1,
        clusters=touched,
        from_children=old_counts[touched],
    )
    (trained,) = run_jobs([job], team, description="training new labels")
    old = levels[-1]
    chunks = [old.chunk(c, int(a), int(b - a)) for c, (a, b) in enumerate(pairs(tree.offsets[-1]))]
    has_instance = np.bincount(carried.indices, minlength=larger.n_slots) > 0
    for leaf, chunk in zip(touched.tolist(), trained, strict=True):
        first, end = larger.offsets[-1][leaf] + old_counts[leaf], larger.offsets[-1][leaf + 1]
        chunk = _ranked_last(chunk, ~has_instance[first:end])
        chunks[leaf] = join_parts([chunks[leaf], chunk])
    last = LevelWeights.from_chunks(chunks, old.seen).converted(weights, larger.offsets[-1])
    return larger, [*levels[:-1], last]


def _ranked_last(chunk: Chunk, unseen: npt.NDArray[np.bool_]) -> Chunk:
    """Give children without an instance a bias that nothing has to be told apart from."""
    bias = np.where(unseen, np.minimum(chunk.bias, -1), chunk.bias).astype(np.float32)
    return chunk._replace(bias=bias)


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
) -> sp.csr_array[Any]:
    """Return the leaf of each new label: where the tree leads most of its instances, and its text.

    A label with neither goes to the smallest leaf. The result is a CSR (n_new, n_leaves) with one
    entry per row.
    """
    n_new = Y.shape[1] - tree.n_labels
    if tree.depth == 1:
        return one_each(np.zeros(n_new, np.int64), 1)
    Y_new = sp.csc_array(Y[:, tree.n_labels :])
    carrying = distinct(Y_new.indices)
    index = SearchIndex(tree, levels[:-1], X.shape[1])

    def led_to(rows: Sparse) -> sp.csr_array[Any]:
        found, _ = index.search(rows, top_k=1, beam_width=10, scoring=scoring, team=team)
        return one_each(found[:, 0], tree.n_leaves)

    votes = sp.csr_array((n_new, tree.n_leaves), dtype=np.float32)
    if len(carrying):
        votes = sp.csr_array(Y_new[carrying].T @ led_to(X[carrying]))
    if label_features is not None:
        votes = votes + 0.5 * led_to(label_features)
    return one_each(largest_or_smallest_leaf(votes, tree), tree.n_leaves)


def largest_or_smallest_leaf(votes: Sparse, tree: LabelTree) -> IntArray:
    """Return the leaf with most votes for each label; the smallest leaf for one without votes."""
    smallest = int(np.argmin(np.diff(tree.offsets[-1])))
    best = np.asarray(votes.argmax(axis=1)).ravel()
    return np.where(np.diff(votes.indptr) > 0, best, smallest).astype(np.int64)


def one_each(columns: npt.NDArray[Any], n_columns: int) -> sp.csr_array[Any]:
    """Return a CSR of ones with one entry in each row."""
    n = len(columns)
    ones = np.ones(n, np.float32)
    return sp.csr_array((ones, columns.astype(np.int64), np.arange(n + 1)), shape=(n, n_columns))


def grown_tree(tree: LabelTree, leaves: Sparse) -> LabelTree:
    """Return the tree with new labels, numbered after the old ones, at the end of their leaves.

    `leaves` is a CSR (n_new, n_leaves), non-zero where a new label goes.
    """
    new = leaves.tocoo()
    leaf = np.concatenate([tree.parents(tree.depth - 1), new.col])
    labels = np.concatenate([tree.slot_labels, tree.n_labels + new.row])
    order = np.lexsort((labels, leaf))
    offsets = ends(np.bincount(leaf, minlength=tree.n_leaves))
    return LabelTree(
        (*tree.offsets[:-1], offsets),
        labels[order].astype(np.int32),
        tree.n_labels + leaves.shape[0],
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
