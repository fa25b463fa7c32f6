"""Change a tree with overlap: where new labels go, and what is noted of senses afterwards."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.disentangle.leaf_assignment import assign, ranked_counts
from multitudes.disentangle.senses import SenseNotes
from multitudes.errors import ConfigError
from multitudes.labels import LabelTree
from multitudes.linear.level_labels import pattern_of, spread_to_slots
from multitudes.linear.scoring import score_tree_pairs, scoring
from multitudes.linear.tree_estimator import TreeEstimator
from multitudes.linear.update import largest_or_smallest_leaf, one_each
from multitudes.types import FloatArray, IntArray, Sparse

LABEL_TEXT_COUNT = 0.5
"""What a new label's text counts, in instances: it decides where nothing else does."""


def leaves_of_new_labels(
    model: TreeEstimator,
    X: Sparse,
    Y: Sparse,
    label_features: Sparse | None,
    *,
    overlap: IntArray,
    match_width: int,
    max_cluster_size: int | None,
) -> sp.csr_array[Any]:
    """Return the leaves of each new label by the rule of training: its largest counts (Eq. 10).

    The labels that are there already keep their leaves, and have their places in them.

    Parameters
    ----------
    X, Y, label_features
        As `TreeEstimator.add_labels` takes them, checked.
    overlap : int array (n_new,)
        Leaves of each label at most.
    match_width : int
        Leaves of an instance that count.
    max_cluster_size : int, optional
        Labels of a leaf at most, old and new.

    Returns
    -------
    csr_array (n_new, n_leaves), float32
        1 where a new label goes.
    """
    tree = model.tree_
    counts = _counts(model, X, sp.csr_array(Y[:, tree.n_labels :]), match_width)
    if label_features is not None:
        best = model.match(label_features, beam_width=match_width).labels[:, 0]
        counts = sp.csr_array(counts + LABEL_TEXT_COUNT * one_each(best, tree.n_leaves))
    room = None
    if max_cluster_size is not None:
        room = np.maximum(max_cluster_size - np.diff(tree.offsets[-1]), 0)
        if room.sum() < len(overlap):
            raise ConfigError(
                f"max_cluster_size={max_cluster_size} leaves room for {room.sum():,} more labels "
                f"in {tree.n_leaves:,} leaves, but {len(overlap):,} are new: raise it, or fit again"
            )
    home = one_each(largest_or_smallest_leaf(counts, tree), tree.n_leaves)
    return assign(counts, home, overlap=overlap, max_cluster_size=room)


def _counts(model: TreeEstimator, X: Sparse, Y_new: Sparse, width: int) -> sp.csr_array[Any]:
    """Count the instances of each new label that the matcher leads to each leaf."""
    carrying = np.flatnonzero(np.diff(Y_new.indptr))
    if not len(carrying):
        return sp.csr_array((Y_new.shape[1], model.tree_.n_leaves), dtype=np.float32)
    matched = model.match(X[carrying], beam_width=width).to_csr()
    return ranked_counts(Y_new[carrying], matched)


# ------------------------------------------------------------------ notes


def with_further_uses(
    notes: SenseNotes | None, model: TreeEstimator, X: Sparse, Y: Sparse
) -> SenseNotes | None:
    """Return the notes with further instances counted; words, neighbors and examples stay.

    An instance counts in the leaf of its label that the matcher prefers for it. The rule of
    training would need the old instances.
    """
    if notes is None:
        return None
    counts = notes.counts + matched_uses(model, X, Y)
    return dataclasses.replace(notes, counts=counts.astype(np.int32))


def matched_uses(model: TreeEstimator, X: Sparse, Y: Sparse) -> IntArray:
    """Count, for each slot, the instances of its label that the matcher leads there, (n_slots,).

    Each (instance, label) pair counts once: in the label's leaf with the largest score, ties to
    the smaller id.
    """
    tree = model.tree_
    carried = spread_to_slots(pattern_of(Y), tree)
    row = np.repeat(np.arange(carried.n_rows), np.diff(carried.indptr))
    slot = carried.indices
    leaf = tree.parents(tree.depth - 1)[slot]
    score = _leaf_scores(model, X, row, leaf)
    label = tree.slot_labels[slot]
    order = np.lexsort((leaf, -score, label, row))
    row, label = row[order], label[order]
    first = np.ones(len(order), bool)
    first[1:] = (row[1:] != row[:-1]) | (label[1:] != label[:-1])
    return np.bincount(slot[order][first], minlength=tree.n_slots)


def _leaf_scores(model: TreeEstimator, X: Sparse, row: IntArray, leaf: IntArray) -> FloatArray:
    """Return the matcher's score, as a logarithm, of each (instance, leaf) pair."""
    tree = model.tree_
    numbers = np.arange(tree.n_leaves, dtype=np.int32)
    matcher = LabelTree(tree.offsets[:-1], numbers, tree.n_leaves)  # its labels are the leaves
    shape = (X.shape[0], tree.n_leaves)
    pairs: sp.csr_array[Any] = sp.csr_array((np.ones(len(row), np.float32), (row, leaf)), shape)
    rule = scoring(model.score_function)
    scores = score_tree_pairs(matcher, model.levels_[:-1], X, pairs, rule, n_jobs=model.n_jobs)
    found: FloatArray = np.asarray(scores.tocsr()[row, leaf]).ravel()
    return found


def with_new_labels(
    notes: SenseNotes | None, learned: SenseNotes, is_new: npt.NDArray[np.bool_]
) -> SenseNotes:
    """Put the notes of new slots between the old ones.

    Parameters
    ----------
    notes : SenseNotes, optional
        Of the slots that were there before, in their order; None if there were no second leaves
        before, and so nothing to note.
    learned : SenseNotes
        Of all slots, from the data that brought the new labels.
    is_new : bool array (n_slots,)

    Notes
    -----
    Examples are rows of the training data, and this is other data: new slots have none.
    """
    learned = dataclasses.replace(learned, examples=np.full_like(learned.examples, -1))
    if notes is None:
        return learned
    joined: dict[str, npt.NDArray[Any]] = {}
    for field in dataclasses.fields(notes):
        values = getattr(learned, field.name).copy()
        values[~is_new] = getattr(notes, field.name)
        joined[field.name] = values
    return SenseNotes(**joined)


def without_labels(notes: SenseNotes, tree: LabelTree, dropped: IntArray) -> SenseNotes:
    """Return the notes of the slots that stay, with labels renumbered; `tree` is the old one."""
    stays = np.ones(tree.n_labels, bool)
    stays[dropped] = False
    kept = stays[tree.slot_labels]
    new_id = np.append(np.where(stays, np.cumsum(stays) - 1, -1), -1)  # -1, for none, stays -1
    nearest = new_id[notes.nearest[kept]]
    order = np.argsort(nearest < 0, axis=1, kind="stable")  # gaps move to the end
    fields = (field.name for field in dataclasses.fields(notes))
    stays_as_it_is = {name: getattr(notes, name)[kept] for name in fields}
    nearest = np.take_along_axis(nearest, order, axis=1).astype(np.int32)
    return SenseNotes(**(stays_as_it_is | {"nearest": nearest}))
