"""Balanced hierarchical k-means: label embeddings to a `LabelTree`, same tree on any threads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.kernels import ahead
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels.node_splitting import DenseRows, SparseRows, WholeRows, split_large
from multitudes.labels.split_plan import START, STOP, SplitPlan, plan_splits, tree_arities
from multitudes.labels.tree import LabelTree
from multitudes.progress import track
from multitudes.types import IntArray, LabelArray
from multitudes.validation import checked_vectors

SUBTREE = 1 << 20
"""Stored values from which a node's own rows are shared out among the threads."""
LARGE = 1 << 18
"""Stored values from which a node is split by a few passes over its rows (`split_large`)."""


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
        embeddings = _checked_embeddings(label_embeddings)
        n_labels = embeddings.shape[0]
        arities = tree_arities(n_labels, branching, max_leaf_size)
        plan = plan_splits(n_labels, arities, random_state=random_state)
        order = np.arange(n_labels, dtype=np.int32)
        rows = [_label_rows(embeddings, min_weight, team)]
        del label_embeddings, embeddings  # large, and not looked at any more
        _split_all(rows.pop(), plan, order, max_iterations, team)
    return LabelTree(level_offsets(arities, plan.leaf_offsets), order, n_labels)


class _Node(NamedTuple):
    """A node of a plan, and its labels: some of the rows at hand, in order."""

    number: int
    rows: WholeRows
    own: LabelArray


def _split_all(
    rows: WholeRows, plan: SplitPlan, order: LabelArray, max_iterations: int, team: ThreadTeam
) -> None:
    """Split all nodes: the first on all threads, then whole subtrees side by side."""
    if len(plan.nodes) == 0:
        return
    first = [_Node(0, rows, order.copy())]
    del rows  # they are copied with the first split, and let go of

    def split(todo: list[_Node], limit: int, team: ThreadTeam) -> list[_Node]:
        """Split nodes of more than `limit` values and those below; returns the smaller ones."""
        small = []
        while todo:
            node = todo.pop()
            if int(node.rows.sizes[node.own].sum()) <= limit:
                small.append(node)
                continue
            start = plan.nodes[node.number, START]
            split_large(node.rows, at_zero(plan.nodes[node.number]), node.own, max_iterations, team)
            keep(node)
            children = plan.children(node.number)
            parts = [node.own[slice(*(plan.nodes[c, [START, STOP]] - start))] for c in children]
            copies = node.rows.side_by_side(parts, team)
            todo += [_Node(c, *copy) for c, copy in zip(children, copies, strict=True)]
            task.advance()
        return small

    def split_subtree(node: _Node) -> None:
        for small in split([node], LARGE, ThreadTeam(1)):
            nodes = plan.subtree(small.number)
            small.rows.split_nodes(at_zero(nodes), max_iterations, small.own)
            keep(small)
            task.advance(len(nodes))

    def keep(node: _Node) -> None:
        order[slice(*plan.nodes[node.number, [START, STOP]])] = node.rows.labels[node.own]

    with track("clustering labels", total=len(plan.nodes), unit="clusters") as task:
        subtrees = split(first, SUBTREE, team)
        subtrees.sort(key=lambda node: -len(node.own))
        team.map(split_subtree, subtrees)


def at_zero(nodes: IntArray) -> IntArray:
    """Return a node of a plan, or a subtree, as if its labels were the first."""
    nodes = nodes.copy()
    nodes[..., [START, STOP]] -= nodes.ravel()[START]
    return nodes


def level_offsets(arities: tuple[int, ...], leaf_offsets: IntArray) -> tuple[IntArray, ...]:
    """Return the offsets of every level: regular above the leaves, the plan's at the leaves."""
    offsets, clusters = [], 1
    for arity in arities:
        offsets.append(np.arange(clusters + 1, dtype=np.int64) * arity)
        clusters *= arity
    return (*offsets, leaf_offsets)


def _checked_embeddings(embeddings: Any) -> Any:
    """Return the embeddings as float32, sparse or dense; no rows at all are a DataError."""
    embeddings = checked_vectors(embeddings, name="label_embeddings")
    if embeddings.shape[0] < 1:
        raise DataError(
            "label_embeddings must be a (n_labels, n_features) matrix with at least one row, "
            f"got {embeddings.shape}"
        )
    return embeddings


def _label_rows(embeddings: Any, min_weight: float, team: ThreadTeam) -> WholeRows:
    """Return the embeddings as kernels want them: unit rows or zero."""
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
