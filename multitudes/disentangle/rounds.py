"""One round of Algorithm 1: labels move to the leaves where the matcher leads their instances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from multitudes.disentangle.leaf_assignment import assign, ranked_counts, tp_bound
from multitudes.errors import StoreError
from multitudes.labels import LabelTree, build_tree
from multitudes.store import checks
from multitudes.types import IntArray, Sparse


class Round(NamedTuple):
    """What one update of the clusters did.

    Parameters
    ----------
    bound_before, bound_after : int
        True positives that the matcher's leaves contain (Eq. 6), with the clusters before and
        after: the most that any ranker could find.
    n_slots : int
        Places of labels in leaves, copies counted.
    largest_leaf : int
        Labels in the fullest leaf.
    n_moved : int
        Labels whose leaves changed.
    """

    bound_before: int
    bound_after: int
    n_slots: int
    largest_leaf: int
    n_moved: int


def check_history(history: Any, n_trees: int) -> None:
    """Raise a StoreError unless a stored history has the rounds of each tree."""
    if not isinstance(history, list) or len(history) != n_trees:
        raise StoreError("its history must have the rounds of each tree")
    for round_ in (round_ for rounds in history for round_ in rounds):
        checks.numbers(round_, "history", n=len(Round._fields))


def reassigned(
    tree: LabelTree,
    scores: Sparse,
    Y: Sparse,
    *,
    overlap: IntArray,
    max_cluster_size: int | None,
) -> tuple[LabelTree, Round]:
    """Give each label the leaves where its instances are led.

    Parameters
    ----------
    tree : LabelTree
        With the present leaves.
    scores : CSR (n_instances, n_leaves)
        The matcher's score of each leaf in an instance's beam.
    Y : CSR (n_instances, n_labels)
    overlap : int array (n_labels,)
        Leaves of each label at most.
    max_cluster_size : int, optional
        Labels of a leaf at most.
    """
    counts = ranked_counts(Y, scores)
    matched = scores.copy()
    matched.data = np.ones_like(matched.data)
    current = tree.label_clusters(tree.depth - 1)
    found = assign(counts, current, overlap=overlap, max_cluster_size=max_cluster_size)
    changed: sp.csr_array[Any] = sp.csr_array(abs(found - current))
    changed.eliminate_zeros()
    moved = int((np.diff(changed.indptr) > 0).sum())
    sizes = np.bincount(found.indices, minlength=tree.n_leaves)
    done = Round(
        tp_bound(Y, matched, current),
        tp_bound(Y, matched, found),
        int(found.nnz),
        int(sizes.max()),
        moved,
    )
    return (tree.with_leaves(found) if moved else tree), done


def random_tree(model: Any, n_labels: int, random_state: int) -> LabelTree:
    """Return a tree of the model's shape whose leaves hold labels at random."""
    noise = np.random.default_rng(random_state).standard_normal((n_labels, 8)).astype(np.float32)
    return build_tree(
        noise,
        branching=model.branching,
        max_leaf_size=model.max_leaf_size,
        random_state=random_state,
    )
