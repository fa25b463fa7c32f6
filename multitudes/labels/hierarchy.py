"""A user's own hierarchy, of any and uneven depth, to the levels of a `LabelTree`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError
from multitudes.types import IntArray

Levels: TypeAlias = tuple[tuple[IntArray, ...], IntArray]
"""(offsets of each level, slot labels)"""


@dataclass
class Cluster:
    """A cluster while the hierarchy is read: labels right below it, and clusters below it."""

    labels: list[int] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)


def levels_of_nested(hierarchy: Mapping[str, Any] | Sequence[Any]) -> Levels:
    """Levels of nested lists and mappings whose innermost entries are label ids."""
    root = Cluster()
    pending = [(root, hierarchy, "the hierarchy")]
    while pending:  # not recursive: a chain may be deeper than Python's stack
        cluster, content, where = pending.pop()
        for name, child in _entries(content, where):
            if isinstance(child, (int, np.integer)) and not isinstance(child, bool):
                cluster.labels.append(int(child))
            else:
                below = Cluster()
                cluster.clusters.append(below)
                pending.append((below, child, name))
    return _levels(root)


def levels_of_parents(parents: npt.NDArray[np.integer], n_labels: int) -> Levels:
    """Levels of a parent array: nodes below `n_labels` are labels, the others are clusters."""
    parents = _checked_parents(parents, n_labels)
    is_parent = np.zeros(len(parents), bool)
    is_parent[parents[parents >= 0]] = True
    root = Cluster()
    clusters = {
        node: Cluster() for node in range(len(parents)) if node >= n_labels or is_parent[node]
    }
    for node, parent in enumerate(parents.tolist()):
        above = clusters[parent] if parent >= 0 else root
        if node in clusters:
            above.clusters.append(clusters[node])
            if node < n_labels:
                clusters[node].labels.append(node)
        else:
            above.labels.append(node)
    return _levels(root)


def _entries(content: Any, where: str) -> list[tuple[str, Any]]:
    """(what to call it in a message, entry) of a list or mapping."""
    if isinstance(content, Mapping):
        return [(f"{key!r}", value) for key, value in content.items()]
    if isinstance(content, (list, tuple, np.ndarray)):
        return [(f"entry {i} of {where}", value) for i, value in enumerate(content)]
    raise DataError(
        f"{where} must be a label id (int), a list or a mapping, got {content!r}: "
        "look label names up before building the hierarchy"
    )


def _checked_parents(parents: npt.NDArray[np.integer], n_labels: int) -> IntArray:
    """Return the parents as int64, after checking shape, range and that every way up ends."""
    if parents.ndim != 1 or not np.issubdtype(parents.dtype, np.integer):
        raise DataError(
            f"parents must be a one-dimensional integer array, got {parents.dtype} "
            f"of shape {parents.shape}"
        )
    n_nodes = len(parents)
    if not 0 < n_labels <= n_nodes:
        raise DataError(f"n_labels must be from 1 to the number of nodes ({n_nodes}): {n_labels}")
    bad = np.flatnonzero((parents < -1) | (parents >= n_nodes))
    if len(bad):
        raise DataError(
            f"the parent of node {bad[0]} is {parents[bad[0]]}, "
            f"allowed is a node from 0 to {n_nodes - 1}, or -1 for none"
        )
    _check_acyclic(parents.astype(np.int64))
    return parents.astype(np.int64)


def _check_acyclic(parents: IntArray) -> None:
    """Walk all nodes up in doubling steps; whoever has not arrived is below or on a cycle."""
    ancestors = np.append(parents, -1)  # the extra last entry lets -1 point at itself
    for _ in range(len(parents).bit_length() + 1):
        ancestors = ancestors[ancestors]
    stuck = np.flatnonzero(ancestors >= 0)
    if len(stuck):
        raise DataError(
            f"the parents form a cycle: following them up from node {stuck[0]} never ends"
        )


def _levels(root: Cluster) -> Levels:
    """Breadth first, padding until no cluster of the level has clusters below it."""
    _drop_empty(root)
    level = [root]
    offsets: list[IntArray] = []
    while any(cluster.clusters for cluster in level):
        below = [_children(cluster) for cluster in level]
        offsets.append(_offsets([len(children) for children in below]))
        level = [child for children in below for child in children]
    offsets.append(_offsets([len(leaf.labels) for leaf in level]))
    slots = [label for leaf in level for label in sorted(leaf.labels)]
    return tuple(offsets), np.array(slots, dtype=np.int64)


def _children(cluster: Cluster) -> list[Cluster]:
    """Return the clusters one level down; a leaf stands in for itself (padding)."""
    if not cluster.clusters:
        return [cluster]
    return ([Cluster(labels=cluster.labels)] if cluster.labels else []) + cluster.clusters


def _drop_empty(root: Cluster) -> None:
    """Remove clusters with no label below them: they can never be reached."""
    order = [root]
    for cluster in order:
        order.extend(cluster.clusters)
    for cluster in reversed(order):
        cluster.clusters = [c for c in cluster.clusters if c.clusters or c.labels]


def _offsets(counts: list[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
