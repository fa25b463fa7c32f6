"""The label tree, from embeddings that lie in ranges of labels.

Which splits in two make the tree is planned ahead, and a split reads its own labels only. So large
nodes are split side by side, each as soon as the one above it is, by machines that read the
embeddings where they lie, until subtrees are small enough to be done by one machine each, in
memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from multitudes.engine import Cluster
from multitudes.kernels.clustering import kmeans
from multitudes.kernels.gathering import take_rows
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels import LabelTree
from multitudes.labels.node_splitting import Sides, SparseRows, split_large
from multitudes.labels.split_plan import START, STOP, SplitPlan, plan_splits, tree_arities
from multitudes.labels.tree_building import LARGE, level_offsets
from multitudes.shards.embedding import EMBEDDING
from multitudes.shards.run import Arrays, Piece, Run, Stage
from multitudes.types import FloatArray, IntArray, LabelArray

SUBTREES = 64
"""A node with less than this part of all values is one machine's, with all that is below it."""
IN_MEMORY = 1 << 24
"""A machine copies the values of a node or a subtree together, up to this many."""
MAX_ITERATIONS = 20  # the default of `build_tree`


@dataclass(frozen=True)
class Embeddings:
    """Embeddings of all labels: their ranges, mapped where they are needed; a `LabelRows`.

    Rows are always asked for in ascending order, which is how the nodes of a tree keep them.

    Parameters
    ----------
    run : Run
    starts : tuple of int (n_ranges + 1,)
    n_features : int
    """

    run: Run
    starts: tuple[int, ...]
    n_features: int

    @property
    def n_labels(self) -> int:
        """Labels of all ranges."""
        return self.starts[-1]

    @cached_property
    def mapped(self) -> list[Arrays]:
        """The arrays of all ranges, mapped."""
        return [self.run.read(EMBEDDING.name, i) for i in range(len(self.starts) - 1)]

    @cached_property
    def sizes(self) -> IntArray:
        """Stored values of each row (n_labels,)."""
        return np.concatenate([np.diff(own["indptr"]) for own in self.mapped])

    def __getstate__(self) -> dict[str, Any]:
        """Leave the maps behind: another process has its own."""
        return {k: v for k, v in vars(self).items() if k not in ("mapped", "sizes")}

    def _parts(self, rows: LabelArray) -> Iterator[tuple[slice, tuple[Any, ...], LabelArray]]:
        """Where the rows of each range are among `rows`, its arrays, and its numbers of them."""
        cuts = np.searchsorted(rows, self.starts)
        for own, start, a, b in zip(
            self.mapped, self.starts[:-1], cuts[:-1], cuts[1:], strict=True
        ):
            if a < b:
                arrays = (own["indptr"], own["indices"], own["values"])
                yield slice(a, b), arrays, (rows[a:b] - start).astype(np.int32)

    def score(self, rows: LabelArray, diff: FloatArray, scores: FloatArray) -> None:
        """Write the products of some rows with `diff` to `scores`."""
        for where, arrays, own in self._parts(rows):
            kmeans.score_sparse(*arrays, own, diff, scores[where])

    def add(self, rows: LabelArray, side: Sides, out: FloatArray) -> None:
        """Add some rows to `out`, or take them off where `side` is 0."""
        for where, arrays, own in self._parts(rows):
            kmeans.add_sparse(*arrays, own, side[where], out)

    def split_nodes(
        self,
        nodes: IntArray,
        max_iterations: int,
        order: LabelArray,
        diff: FloatArray | None = None,
    ) -> None:
        """Split nodes of a plan one after another, reordering `order`, which ascends at first."""
        rows = self.in_memory(order)
        local = np.arange(len(order), dtype=np.int32)
        rows.split_nodes(nodes, max_iterations, local, diff)
        order[:] = order[local]

    def in_memory(self, rows: LabelArray) -> SparseRows:
        """Copy some rows, renumbered from 0."""
        indptr = np.concatenate([[0], np.cumsum(self.sizes[rows])])
        indices, values = np.empty(indptr[-1], np.uint32), np.empty(indptr[-1], np.float32)
        for where, arrays, own in self._parts(rows):
            take_rows(*arrays, own, indptr[where.start : where.stop + 1], indices, values)
        return SparseRows.of_arrays(indptr, indices, values, self.n_features)


def grow_tree(
    cluster: Cluster, embeddings: Embeddings, *, branching: int, max_leaf_size: int, seed: int
) -> LabelTree:
    """Return the tree that `build_tree` makes of the same embeddings."""
    n_labels = embeddings.n_labels
    arities = tree_arities(n_labels, branching, max_leaf_size)
    plan = plan_splits(n_labels, arities, random_state=seed)
    order = np.arange(n_labels, dtype=np.int32)
    large: set[int] = set()
    run = embeddings.run
    n_values = int(embeddings.sizes.sum())
    enough = max(min(n_values // SUBTREES, IN_MEMORY), LARGE)

    def piece(node: int) -> Piece:
        """Split a large node, whose children are pieces of their own, or all of a subtree."""
        own = order[_span(plan, node)]
        size = int(embeddings.sizes[own].sum())
        if size > enough:
            large.add(node)
        nodes = plan.nodes[node : node + 1] if node in large else plan.subtree(node)
        return Piece(node, (nodes, own.copy()), float(size))

    def below(node: int) -> list[Piece]:
        order[_span(plan, node)] = run.read(CLUSTERING.name, node)["order"]
        return [piece(child) for child in plan.children(node)] if node in large else []

    passes = math.ceil(math.log2(max(n_values / enough, 1))) + 1  # over all values, about
    root = [piece(0)] if len(plan.nodes) else []
    run.grow(cluster, CLUSTERING, embeddings, root, below, total=float(passes * n_values))
    return LabelTree(level_offsets(arities, plan.leaf_offsets), order, n_labels)


def _span(plan: SplitPlan, node: int) -> slice:
    return slice(int(plan.nodes[node, START]), int(plan.nodes[node, STOP]))


def split_labels(run: Run, embeddings: Embeddings, item: tuple[IntArray, LabelArray]) -> Arrays:
    """Split one node, or all nodes of a subtree; returns the new order of its labels."""
    nodes, order = item[0].copy(), np.array(item[1])
    nodes[:, [START, STOP]] -= nodes[0, START]
    if int(embeddings.sizes[order].sum()) > IN_MEMORY:
        split_large(embeddings, nodes[0], order, MAX_ITERATIONS, ThreadTeam(1))
        return {"order": order}
    rows = embeddings.in_memory(order)  # among others they are read twice as slowly, or worse
    local = np.arange(len(order), dtype=np.int32)
    split_subtree(rows, nodes, local)
    return {"order": order[local]}


CLUSTERING = Stage("tree", "clustering labels", split_labels)


def split_subtree(rows: SparseRows, nodes: IntArray, order: LabelArray) -> None:
    """Split nodes in preorder: large ones by passes over all rows, the others in runs."""
    team = ThreadTeam(1)
    node = 0
    while node < len(nodes):
        start, stop = nodes[node, START], nodes[node, STOP]
        if int(rows.sizes[order[start:stop]].sum()) > LARGE:
            split_large(rows, nodes[node], order, MAX_ITERATIONS, team)
            node += 1
            continue
        last = node  # what follows in preorder, up to the end of this range, is below it
        while last < len(nodes) and nodes[last, STOP] <= stop and nodes[last, START] >= start:
            last += 1
        rows.split_nodes(nodes[node:last], MAX_ITERATIONS, order)
        node = last
