"""Balanced hierarchical k-means: label embeddings to a `LabelTree`, same tree on any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.kernels import ahead
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels.node_splitting import DenseRows, LabelRows, SparseRows, split_large
from multitudes.labels.split_plan import START, STOP, SplitPlan, plan_splits, tree_arities
from multitudes.labels.tree import LabelTree
from multitudes.progress import track
from multitudes.types import IntArray, LabelArray
from multitudes.validation import checked_vectors

LARGE = 1 << 18
"""Stored values from which a node's own rows are shared out among the threads."""


def build_tree(
    label_embeddings: Any,
    *,
    branching: int = 16,
    max_leaf_size: int = 100,
    max_iterations: int = 20,
    min_weight: float = 0.01,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> LabelTree:
    """Cluster labels into a balanced tree by recursive spherical 2-means.

    Parameters
    ----------
    label_embeddings : CSR or float array (n_labels, n_features)
        One row per label, e.g. from `multitudes.labels.pifa`. Only directions count: rows that are
        not of unit length are normalized first. Rows may be zero.
    branching : int, at least 2
        Children per cluster; 2 gives the binary trees of Parabel. The root has at most as many.
    max_leaf_size : int
        Labels per leaf at most. Leaf sizes differ by at most one.
    max_iterations : int
        Of each 2-means; it ends earlier when no label changes sides.
    min_weight : float
        Values of a sparse row below this part of its length are left out of the clustering, unless
        that takes a tenth of the row's squared length; 0 keeps all.
    random_state : int
        Chooses the labels each 2-means starts from. Same seed, same tree, whatever `n_jobs`.
    n_jobs : int, optional
        All cores by default.

    Returns
    -------
    LabelTree
        With ``n_labels <= max_leaf_size`` the root is the only leaf.

    Notes
    -----
    A zero row scores the same on both sides of every split: such labels fill up the room that the
    others leave, the smaller ids to the left.

    References
    ----------
    Prabhu et al., Parabel, WWW 2018, section 4.1 (balanced spherical 2-means); Yu et al., PECOS,
    JMLR 2022 (shallow trees of it).
    """
    _check_settings(branching, max_leaf_size, max_iterations, random_state)
    if not 0 <= min_weight < 1:
        raise ConfigError(f"min_weight must be from 0 to less than 1, got {min_weight!r}")
    ahead.need(ahead.CLUSTERING)
    with ThreadTeam(n_jobs) as team:
        rows = _label_rows(label_embeddings, min_weight, team)
        arities = tree_arities(rows.n_labels, branching, max_leaf_size)
        plan = plan_splits(rows.n_labels, arities, random_state=random_state)
        order = np.arange(rows.n_labels, dtype=np.int32)
        _split_all(rows, plan, order, max_iterations, team)
    return LabelTree(level_offsets(arities, plan.leaf_offsets), order, rows.n_labels)


def _split_all(
    rows: LabelRows, plan: SplitPlan, order: LabelArray, max_iterations: int, team: ThreadTeam
) -> None:
    """Large nodes one by one on all threads, then the subtrees below them side by side."""
    with track("clustering labels", total=len(plan.nodes), unit="clusters") as task:
        pending, small = [0] * (len(plan.nodes) > 0), []
        while pending:
            node = pending.pop()
            start, stop = plan.nodes[node, START], plan.nodes[node, STOP]
            size = int(rows.sizes[order[start:stop]].sum())
            if size <= LARGE:
                small.append((size, node))
                continue
            split_large(rows, plan.nodes[node], order, max_iterations, team)
            pending.extend(plan.children(node))
            task.advance()

        def split_subtree(item: tuple[int, int]) -> None:
            nodes = plan.subtree(item[1])
            rows.split_nodes(nodes, max_iterations, order)
            task.advance(len(nodes))

        team.map(split_subtree, sorted(small, reverse=True))


def level_offsets(arities: tuple[int, ...], leaf_offsets: IntArray) -> tuple[IntArray, ...]:
    """Return the offsets of every level: regular above the leaves, the plan's at the leaves."""
    offsets, clusters = [], 1
    for arity in arities:
        offsets.append(np.arange(clusters + 1, dtype=np.int64) * arity)
        clusters *= arity
    return (*offsets, leaf_offsets)


def _label_rows(embeddings: Any, min_weight: float, team: ThreadTeam) -> LabelRows:
    """Return the embeddings as kernels want them: checked, float32, unit rows or zero."""
    embeddings = checked_vectors(embeddings, name="label_embeddings")
    if embeddings.shape[0] < 1:
        raise DataError(
            "label_embeddings must be a (n_labels, n_features) matrix with at least one row, "
            f"got {embeddings.shape}"
        )
    is_sparse = sp.issparse(embeddings)
    return SparseRows(embeddings, min_weight, team) if is_sparse else DenseRows(embeddings)


def _check_settings(
    branching: int, max_leaf_size: int, max_iterations: int, random_state: int
) -> None:
    limits = {
        "branching": (branching, 2),
        "max_leaf_size": (max_leaf_size, 1),
        "max_iterations": (max_iterations, 1),
        "random_state": (random_state, 0),
    }
    for name, (value, smallest) in limits.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < smallest:
            raise ConfigError(f"{name} must be an int >= {smallest}, got {value!r}")
