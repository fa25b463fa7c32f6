"""Which splits in two make a balanced tree: sizes need no data, so they are planned ahead."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from multitudes.types import IntArray

START, STOP, N_LEFT, FIRST, SECOND = range(5)
"""Columns of `SplitPlan.nodes`."""


def tree_arities(n_labels: int, branching: int, max_leaf_size: int) -> tuple[int, ...]:
    """Children per cluster of each level above the leaves, top down; empty for a single leaf.

    With a branching that is a power of two the number of leaves is the next power of two above
    n_labels / max_leaf_size, as in PECOS and Parabel. Otherwise it is the smallest multiple of
    branching ** (levels - 1) that is enough. A level is put above another until at most `branching`
    clusters are left for the root, as libpecos does.

    Examples
    --------
    >>> tree_arities(40_623, 16, 100)  # the root over 2, 32, and then 512 leaves
    (2, 16, 16)
    >>> tree_arities(40_623, 10, 100)  # 500 leaves
    (5, 10, 10)
    """
    clusters = math.ceil(n_labels / max_leaf_size)
    if clusters <= 1:
        return ()
    if branching & (branching - 1) == 0:
        clusters = 1 << (clusters - 1).bit_length()
    arities: list[int] = []
    while clusters > branching:
        clusters = math.ceil(clusters / branching)
        arities.append(branching)
    return (clusters, *arities)


@dataclass(frozen=True)
class SplitPlan:
    """Every split in two on the way from all labels to the leaves, in preorder.

    Parameters
    ----------
    nodes : int64 array (n_leaves - 1, 5)
        START and STOP of the node's range of rows, N_LEFT rows of them for the left side (0: the
        node is not worth splitting), FIRST and SECOND: the rows of the range the sides start from.
    n_leaves : int64 array (n_leaves - 1,)
        Leaves below each node. The subtree of node i is ``nodes[i : i + n_leaves[i] - 1]``.
    left_leaves : int64 array (n_leaves - 1,)
        Those on the left. With two or more of them the left child is node i + 1; with two or more
        on the right the right child is node i + left_leaves[i].
    leaf_offsets : int64 array (n_leaves + 1,)
        Where each leaf's rows begin; sizes differ by at most one.
    """

    nodes: IntArray
    n_leaves: IntArray
    left_leaves: IntArray
    leaf_offsets: IntArray

    def children(self, node: int) -> list[int]:
        """Return the nodes below a node that are themselves split."""
        left, leaves = int(self.left_leaves[node]), int(self.n_leaves[node])
        return [node + 1] * (left > 1) + [node + left] * (leaves - left > 1)

    def subtree(self, node: int) -> IntArray:
        """Return the rows of `nodes` from a node down, itself first."""
        return self.nodes[node : node + int(self.n_leaves[node]) - 1]


def plan_splits(n_labels: int, arities: tuple[int, ...], *, random_state: int) -> SplitPlan:
    """Plan the splits of `n_labels` rows into ``prod(arities)`` leaves.

    A node of k clusters is split into k // 2 of them on the left and the others on the right, with
    rows in proportion; this goes on within each cluster, level after level.
    """
    units = [math.prod(arities[level + 1 :]) for level in range(len(arities))]
    nodes: list[tuple[int, int, int]] = []
    leaves: list[tuple[int, int]] = []
    offsets = [0]
    stack = [(0, n_labels, math.prod(arities))]
    while stack:
        start, stop, n_leaves = stack.pop()
        if n_leaves == 1:
            offsets.append(stop)
            continue
        unit = next(unit for unit in units if unit < n_leaves)
        left = n_leaves // unit // 2 * unit
        middle = start + (stop - start) * left // n_leaves
        nodes.append((start, stop, middle - start if stop - start > 1 else 0))
        leaves.append((n_leaves, left))
        stack.append((middle, stop, n_leaves - left))
        stack.append((start, middle, left))
    ranges = np.array(nodes, np.int64).reshape(-1, 3)
    counts = np.array(leaves, np.int64).reshape(-1, 2)
    starts = _starting_rows(ranges[:, STOP] - ranges[:, START], random_state)
    table = np.concatenate([ranges, starts], axis=1)
    return SplitPlan(table, counts[:, 0], counts[:, 1], np.array(offsets, np.int64))


def _starting_rows(sizes: IntArray, random_state: int) -> IntArray:
    """Two different rows of each range, (n_nodes, 2); zeros where a range has fewer than two."""
    rng = np.random.default_rng(random_state)
    first = rng.integers(0, np.maximum(sizes, 1))
    step = rng.integers(1, np.maximum(sizes, 2))
    return np.stack([first, (first + step) % np.maximum(sizes, 1)], axis=1)
