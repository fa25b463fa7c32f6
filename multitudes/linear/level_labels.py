"""Which children each instance carries, and which instances each cluster trains on, by level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from multitudes.labels import LabelTree
from multitudes.types import IntArray, LabelArray, Sparse


@dataclass(frozen=True)
class Pattern:
    """A sparse 0/1 matrix without values; ids ascend within a row.

    Parameters
    ----------
    indptr : int64 array (n_rows + 1,)
    indices : int32 array
    n_columns : int
    """

    indptr: IntArray
    indices: LabelArray
    n_columns: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    def row(self, i: int) -> LabelArray:
        """Return the columns of row i."""
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def transposed(self) -> Pattern:
        """Return the transpose."""
        return pattern_of(self._matrix().T.tocsr())

    def union(self, other: Pattern) -> Pattern:
        """Return the union of both patterns."""
        return pattern_of(self._matrix() + other._matrix())

    def _matrix(self) -> Sparse:
        ones = np.ones(len(self.indices), np.int8)
        return sp.csr_array((ones, self.indices, self.indptr), shape=(self.n_rows, self.n_columns))


def pattern_of(matrix: Sparse) -> Pattern:
    """Return the pattern of a CSR matrix with sorted indices and without explicit zeros."""
    return Pattern(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), int(matrix.shape[1])
    )


def everywhere(n_instances: int) -> Pattern:
    """Return the pattern in which every instance belongs to the root."""
    indptr = np.arange(n_instances + 1, dtype=np.int64)
    return Pattern(indptr, np.zeros(n_instances, np.int32), 1)


def children_by_level(labels: Pattern, tree: LabelTree) -> list[Pattern]:
    """Return, for each level of the tree, the children of its clusters that each instance carries.

    Entry 0 is the root's children, the last is slots; an instance carries a cluster if it carries
    any label below it.
    """
    patterns = [spread_to_slots(labels, tree)]
    for level in range(tree.depth - 1, 0, -1):
        patterns.append(raise_to_parents(patterns[-1], tree.parents(level), tree.n_clusters(level)))
    return patterns[::-1]


def spread_to_slots(labels: Pattern, tree: LabelTree) -> Pattern:
    """Replace each label by its slots: one, or with overlap several."""
    slot_start, slots = tree.slots_of_label()
    copies = np.diff(slot_start)[labels.indices]
    ends = np.concatenate([[0], np.cumsum(copies)])
    # The slots of one label lie together: count up from the first.
    place = np.arange(ends[-1]) - np.repeat(ends[:-1] - slot_start[labels.indices], copies)
    matrix = sp.csr_array(
        (np.ones(ends[-1], np.int8), slots[place].astype(np.int32), ends[labels.indptr]),
        shape=(labels.n_rows, tree.n_slots),
    )
    matrix.sort_indices()
    return pattern_of(matrix)


def raise_to_parents(children: Pattern, parents: IntArray, n_parents: int) -> Pattern:
    """Replace each child by its parent, once per row; parents ascend with their children."""
    raised = parents[children.indices].astype(np.int32)
    first = np.ones(len(raised), bool)
    first[1:] = raised[1:] != raised[:-1]
    starts = children.indptr[:-1]
    first[starts[starts < len(raised)]] = True
    kept_before = np.concatenate([[0], np.cumsum(first)])
    return Pattern(kept_before[children.indptr], raised[first], n_parents)
