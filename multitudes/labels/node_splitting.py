"""Label embeddings as rows to be split in two: sparse or dense, small nodes or large ones."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.kernels import kmeans, kmeans_dense
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels.split_plan import FIRST, N_LEFT, SECOND, START, STOP
from multitudes.types import FloatArray, IntArray, LabelArray, Sparse

SAMPLE = 1 << 16
"""Stored values of the sample a large node's split starts from."""
FEWEST_SAMPLED = 128
"""Rows of that sample at least, however long they are."""
SETTLED = 0.01
"""A large node's split ends when at most this part of its rows changes sides."""
CHUNKS = 16
"""Parts a large node's rows are scored in."""
SUM_CHUNKS = 4
"""Parts a large node's rows are summed in, each with a sum of its own; merged in order."""
FEW = 1024
"""Rows that are not worth sharing out."""

Sides = npt.NDArray[np.uint8]


class LabelRows(Protocol):
    """The rows of a matrix of label embeddings, through the kernels."""

    n_labels: int
    n_features: int
    sizes: IntArray
    """Stored values of each row (n_labels,)."""

    def norms(self) -> FloatArray:
        """Length of each row."""

    def scaled(self, factors: FloatArray) -> LabelRows:
        """Each row times its factor."""

    def split_nodes(
        self,
        nodes: IntArray,
        max_iterations: int,
        order: LabelArray,
        diff: FloatArray | None = None,
    ) -> None:
        """Split nodes of a plan one after another, reordering `order` within each."""

    def score(self, rows: LabelArray, diff: FloatArray, scores: FloatArray) -> None:
        """Write the products of some rows with `diff` to `scores`."""

    def add(self, rows: LabelArray, side: Sides, out: FloatArray) -> None:
        """Add some rows to `out`, or take them off where `side` is 0."""


class SparseRows:
    """CSR rows."""

    def __init__(self, matrix: Sparse) -> None:
        matrix = matrix.tocsr()
        self.n_labels, self.n_features = (int(n) for n in matrix.shape)
        self.indptr = matrix.indptr.astype(np.int64)
        self.indices = np.ascontiguousarray(matrix.indices, np.int32).view(np.uint32)
        self.values = np.ascontiguousarray(matrix.data, np.float32)
        self.sizes = np.diff(self.indptr)
        self._arrays = (self.indptr, self.indices, self.values)

    def norms(self) -> FloatArray:
        """Length of each row."""
        squares = np.zeros(self.n_labels, np.float64)
        filled = self.sizes > 0
        if len(self.values):
            with np.errstate(over="ignore", invalid="ignore"):
                squares[filled] = np.add.reduceat(self.values**2, self.indptr[:-1][filled])
        return np.sqrt(squares).astype(np.float32)

    def scaled(self, factors: FloatArray) -> SparseRows:
        """Each row times its factor."""
        values = self.values * np.repeat(factors, self.sizes).astype(np.float32)
        indices = self.indices.view(np.int32)
        shape = (self.n_labels, self.n_features)
        return SparseRows(sp.csr_array((values, indices, self.indptr), shape=shape))

    def split_nodes(
        self,
        nodes: IntArray,
        max_iterations: int,
        order: LabelArray,
        diff: FloatArray | None = None,
    ) -> None:
        """Split nodes of a plan one after another, reordering `order` within each."""
        out = np.zeros(0, np.float32) if diff is None else diff
        kmeans.split_nodes(*self._arrays, self.n_features, nodes, max_iterations, order, out)

    def score(self, rows: LabelArray, diff: FloatArray, scores: FloatArray) -> None:
        """Write the products of some rows with `diff` to `scores`."""
        kmeans.score_rows(*self._arrays, rows, diff, scores)

    def add(self, rows: LabelArray, side: Sides, out: FloatArray) -> None:
        """Add some rows to `out`, or take them off where `side` is 0."""
        kmeans.add_rows(*self._arrays, rows, side, out)


class DenseRows:
    """Rows of a C-ordered float32 array."""

    def __init__(self, matrix: npt.ArrayLike) -> None:
        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        self.n_labels, self.n_features = matrix.shape
        self.matrix = matrix
        self.sizes = np.full(self.n_labels, self.n_features, np.int64)

    def norms(self) -> FloatArray:
        """Length of each row."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares: FloatArray = np.einsum("ij,ij->i", self.matrix, self.matrix)
        return np.sqrt(squares)

    def scaled(self, factors: FloatArray) -> DenseRows:
        """Each row times its factor."""
        return DenseRows((self.matrix * factors[:, None]).astype(np.float32))

    def split_nodes(
        self,
        nodes: IntArray,
        max_iterations: int,
        order: LabelArray,
        diff: FloatArray | None = None,
    ) -> None:
        """Split nodes of a plan one after another, reordering `order` within each."""
        out = np.zeros(self.n_features, np.float32) if diff is None else diff
        kmeans_dense.split_nodes(self.matrix, nodes, max_iterations, order, out)

    def score(self, rows: LabelArray, diff: FloatArray, scores: FloatArray) -> None:
        """Write the products of some rows with `diff` to `scores`."""
        kmeans_dense.score_rows(self.matrix, rows, diff, scores)

    def add(self, rows: LabelArray, side: Sides, out: FloatArray) -> None:
        """Add some rows to `out`, or take them off where `side` is 0."""
        kmeans_dense.add_rows(self.matrix, rows, side, out)


def split_large(
    rows: LabelRows, node: IntArray, order: LabelArray, max_iterations: int, team: ThreadTeam
) -> None:
    """Split one large node on all threads; the chunks are the same for any number of them.

    It starts from the direction that separates a sample of its rows, so that a few passes over all
    of them are enough, and ends when hardly any row moves.
    """
    members, n_left = order[node[START] : node[STOP]], int(node[N_LEFT])
    n = len(members)
    scores, work = np.empty(n, np.float32), np.empty(n, np.float32)
    side, moved = np.zeros(n, np.uint8), np.empty(n, np.int32)
    diff = _sample_direction(rows, node, members, max_iterations)
    total = _sum(rows, members, np.ones(n, np.uint8), team)
    left = np.zeros(rows.n_features, np.float32)
    bounds = np.linspace(0, n, CHUNKS + 1).astype(np.int64)

    def score_chunk(chunk: int, diff: FloatArray) -> None:
        span = slice(bounds[chunk], bounds[chunk + 1])
        rows.score(members[span], diff, scores[span])

    for _ in range(max_iterations):
        team.map(partial(score_chunk, diff=diff), range(CHUNKS))
        n_moved = kmeans.assign_sides(scores, n_left, side, moved, work)
        if n_moved <= SETTLED * n:
            break
        changed = moved[:n_moved]
        left += _sum(rows, members[changed], side[changed], team)
        kmeans.side_difference(left, total, diff)
    kmeans.partition_rows(members, side, n_left, np.empty(n, np.int32))


def _sample_direction(
    rows: LabelRows, node: IntArray, members: LabelArray, max_iterations: int
) -> FloatArray:
    """The direction that separates the two sides of every so many-th row."""
    n = len(members)
    step = int(rows.sizes[members].sum()) // SAMPLE + 1
    sample = members[:: max(1, min(step, n // FEWEST_SAMPLED))].copy()
    m = len(sample)
    first = int(node[FIRST]) % m
    second = (first + 1 + int(node[SECOND]) % (m - 1)) % m
    n_left = min(max(1, m * int(node[N_LEFT]) // n), m - 1)
    diff = np.zeros(rows.n_features, np.float32)
    table = np.array([[0, m, n_left, first, second]], np.int64)
    rows.split_nodes(table, max_iterations, sample, diff)
    return diff


def _sum(rows: LabelRows, members: LabelArray, side: Sides, team: ThreadTeam) -> FloatArray:
    """Signed sum of some rows, (n_features,); partial sums are merged in a fixed order."""
    n_chunks = SUM_CHUNKS if len(members) > FEW else 1
    bounds = np.linspace(0, len(members), n_chunks + 1).astype(np.int64)
    sums = np.zeros((n_chunks, rows.n_features), np.float32)

    def sum_chunk(chunk: int) -> None:
        span = slice(bounds[chunk], bounds[chunk + 1])
        rows.add(members[span], side[span], sums[chunk])

    team.map(sum_chunk, range(n_chunks))
    total: FloatArray = sums[0]
    for chunk in range(1, n_chunks):
        total += sums[chunk]
    return total
