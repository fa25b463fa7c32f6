"""Which children each instance carries, and which instances each cluster trains on, by level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from multitudes.kernels.patterns import merge_rows, raise_to_parents, spread_to_slots, transpose
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
        """The columns of row i."""
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def transposed(self) -> Pattern:
        """Rows become columns."""
        indptr = np.empty(self.n_columns + 1, np.int64)
        indices = transpose(self.indptr, self.indices, self.n_columns, indptr)
        return Pattern(indptr, indices, self.n_rows)

    def union(self, other: Pattern) -> Pattern:
        """Where either has a 1."""
        indptr = np.empty(self.n_rows + 1, np.int64)
        indices = merge_rows(self.indptr, self.indices, other.indptr, other.indices, indptr)
        return Pattern(indptr, indices, self.n_columns)


def pattern_of(matrix: Sparse) -> Pattern:
    """The pattern of a CSR matrix whose indices are sorted; explicit zeros must be gone."""
    return Pattern(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), int(matrix.shape[1])
    )


def everywhere(n_instances: int) -> Pattern:
    """Every instance belongs to the one cluster of the root's level."""
    indptr = np.arange(n_instances + 1, dtype=np.int64)
    return Pattern(indptr, np.zeros(n_instances, np.int32), 1)


def children_by_level(labels: Pattern, tree: LabelTree) -> list[Pattern]:
    """For each level of the tree, which of its clusters' children each instance carries.

    Entry 0 is the root's children, the last is slots; an instance carries a cluster if it carries
    any label below it.
    """
    slot_start, slots = tree.slots_of_label()
    indptr = np.empty(labels.n_rows + 1, np.int64)
    indices = spread_to_slots(
        labels.indptr, labels.indices, slot_start, slots.astype(np.int32), indptr
    )
    slots_carried = sp.csr_array(
        (np.ones(len(indices), np.int8), indices, indptr), shape=(labels.n_rows, tree.n_slots)
    )
    slots_carried.sort_indices()
    patterns = [pattern_of(slots_carried)]
    for level in range(tree.depth - 1, 0, -1):
        below = patterns[-1]
        parents = tree.parents(level).astype(np.int32)
        indptr = np.empty(labels.n_rows + 1, np.int64)
        indices = raise_to_parents(below.indptr, below.indices, parents, indptr)
        patterns.append(Pattern(indptr, indices, tree.n_clusters(level)))
    return patterns[::-1]
