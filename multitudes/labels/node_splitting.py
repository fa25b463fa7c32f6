"""Label embeddings as rows to be split in two: sparse or dense, small nodes or large ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError
from multitudes.files.large import new_array
from multitudes.kernels.clustering import kmeans
from multitudes.kernels.gathering import take_rows
from multitudes.kernels.sparse import copy_rows, measure_rows
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels.split_plan import FIRST, N_LEFT, SECOND, START, STOP
from multitudes.types import FloatArray, IntArray, LabelArray, Sparse

SAMPLE = 1 << 17
"""Stored values of the sample a large node's split starts from."""
FEWEST_SAMPLED = 128
"""Rows of that sample at least, however long they are."""
SETTLED = 0.01
"""A large node's split ends when at most this part of its rows changes sides."""
CHUNKS = 16
"""Parts a large node's rows are scored in."""
SUM_CHUNKS = 4
"""Parts a large node's rows are summed in, each with a sum of its own; merged in order."""
EVERY = 8
"""One of so many stored values is looked at for how frequent columns are."""
FEW = 1024
"""Rows that are not worth sharing out."""

Sides = npt.NDArray[np.uint8]


class LabelRows(Protocol):
    """The rows of a matrix of label embeddings, of unit length or zero, through the kernels."""

    @property
    def n_labels(self) -> int:
        """Rows."""

    @property
    def n_features(self) -> int:
        """Columns."""

    @property
    def sizes(self) -> IntArray:
        """Stored values of each row (n_labels,)."""

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


class WholeRows(LabelRows, Protocol):
    """Rows that lie in memory, and know their labels."""

    @property
    def labels(self) -> LabelArray:
        """The label of each row (n_labels,)."""

    def side_by_side(
        self, parts: Sequence[LabelArray], team: ThreadTeam
    ) -> list[tuple[WholeRows, LabelArray]]:
        """Return each part's rows where they can be read fast, and the numbers they have there.

        Parts hold no row twice. Once there are parts of parts, these rows must not be read again.
        """


class SparseRows:
    """CSR rows, without values of less than `min_weight` of their row's length.

    Columns are renumbered, the frequent ones first: what the rows are multiplied by then fits into
    the caches as far as it is needed often. Sums over columns are float64, so that their order does
    not show in the result.
    """

    def __init__(self, matrix: Sparse, min_weight: float, team: ThreadTeam) -> None:
        matrix = matrix.tocsr()
        self.n_labels, self.n_features = (int(n) for n in matrix.shape)
        self.labels: LabelArray = np.arange(self.n_labels, dtype=np.int32)
        indptr = matrix.indptr.astype(np.int64)
        indices = np.ascontiguousarray(matrix.indices, np.int32).view(np.uint32)
        values = np.ascontiguousarray(matrix.data, np.float32)
        lengths, smallest = np.empty((2, self.n_labels), np.float32)
        self.sizes = np.empty(self.n_labels, np.int64)
        spans = _spans(self.n_labels, CHUNKS)
        team.map(
            lambda span: measure_rows(
                indptr, values, min_weight, *span, lengths, smallest, self.sizes
            ),
            spans,
        )
        check_lengths(lengths)
        self.indptr = np.concatenate([[0], np.cumsum(self.sizes)])
        self.indices = new_array(int(self.indptr[-1]), np.uint32)
        self.values = new_array(int(self.indptr[-1]), np.float32)
        self._arrays = (self.indptr, self.indices, self.values)
        self._spare: tuple[npt.NDArray[np.uint32], FloatArray] | None = None
        number = _frequent_first(indices, self.n_features)
        team.map(
            lambda span: copy_rows(
                indptr, indices, values, lengths, smallest, *span, number, *self._arrays
            ),
            spans,
        )

    @classmethod
    def of_arrays(
        cls, indptr: IntArray, indices: npt.NDArray[np.uint32], values: FloatArray, n_features: int
    ) -> Self:
        """From rows that another `SparseRows` has thinned and scaled."""
        rows = cls.__new__(cls)
        rows.n_labels, rows.n_features = len(indptr) - 1, n_features
        rows.labels = np.arange(rows.n_labels, dtype=np.int32)
        rows.indptr, rows.indices, rows.values = indptr, indices, values
        rows.sizes = np.diff(indptr)
        rows._arrays = (indptr, indices, values)
        rows._spare = None
        return rows

    def side_by_side(
        self, parts: Sequence[LabelArray], team: ThreadTeam
    ) -> list[tuple[WholeRows, LabelArray]]:
        """Copy rows: read where they lie, among others, they take up to four times as long.

        Parts of parts are copied back to where these rows are, for fresh memory is slow.
        """
        if self._spare is None:
            n_values = len(self.indices)
            self._spare = new_array(n_values, np.uint32), new_array(n_values, np.float32)
        copies: list[tuple[WholeRows, LabelArray]] = []
        at = 0
        for rows in parts:
            indptr = np.concatenate([[0], np.cumsum(self.sizes[rows])])
            room = slice(at, at := at + int(indptr[-1]))
            copies.append(self._copied(rows, indptr, room, team))
        return copies

    def _copied(
        self, rows: LabelArray, indptr: IntArray, room: slice, team: ThreadTeam
    ) -> tuple[SparseRows, LabelArray]:
        """Copy some rows to a part of the spare arrays; theirs is the same part of these."""
        assert self._spare is not None
        indices, values = self._spare[0][room], self._spare[1][room]

        def take(span: tuple[int, int]) -> None:
            start, stop = span
            places = indptr[start : stop + 1]
            take_rows(*self._arrays, rows[start:stop], places, indices, values)

        team.map(take, _spans(len(rows), CHUNKS if len(rows) > FEW else 1))
        copy = self.of_arrays(indptr, indices, values, self.n_features)
        copy._spare = self.indices[room], self.values[room]
        numbers, copy.labels = copy.labels, self.labels[rows]
        return copy, numbers

    def split_nodes(
        self,
        nodes: IntArray,
        max_iterations: int,
        order: LabelArray,
        diff: FloatArray | None = None,
    ) -> None:
        """Split nodes of a plan one after another, reordering `order` within each."""
        out = np.zeros(0, np.float32) if diff is None else diff
        kmeans.split_sparse(*self._arrays, self.n_features, nodes, max_iterations, order, out)

    def score(self, rows: LabelArray, diff: FloatArray, scores: FloatArray) -> None:
        """Write the products of some rows with `diff` to `scores`."""
        kmeans.score_sparse(*self._arrays, rows, diff, scores)

    def add(self, rows: LabelArray, side: Sides, out: FloatArray) -> None:
        """Add some rows to `out`, or take them off where `side` is 0."""
        kmeans.add_sparse(*self._arrays, rows, side, out)


class DenseRows:
    """Rows of a C-ordered float32 array."""

    def __init__(self, matrix: npt.ArrayLike) -> None:
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        self.n_labels, self.n_features = self.matrix.shape
        self.labels: LabelArray = np.arange(self.n_labels, dtype=np.int32)
        self.sizes = np.full(self.n_labels, self.n_features, np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.sqrt(np.einsum("ij,ij->i", self.matrix, self.matrix))
        check_lengths(lengths)
        lengths[lengths == 0] = 1
        if np.any(np.abs(lengths - 1) > 1e-3):  # a copy only where it is needed
            self.matrix = self.matrix / lengths[:, None]

    def side_by_side(
        self, parts: Sequence[LabelArray], team: ThreadTeam
    ) -> list[tuple[WholeRows, LabelArray]]:
        """Leave rows where they are: each is long."""
        return [(self, rows) for rows in parts]

    def split_nodes(
        self,
        nodes: IntArray,
        max_iterations: int,
        order: LabelArray,
        diff: FloatArray | None = None,
    ) -> None:
        """Split nodes of a plan one after another, reordering `order` within each."""
        out = np.zeros(self.n_features, np.float32) if diff is None else diff
        kmeans.split_dense(self.matrix, nodes, max_iterations, order, out)

    def score(self, rows: LabelArray, diff: FloatArray, scores: FloatArray) -> None:
        """Write the products of some rows with `diff` to `scores`."""
        kmeans.score_dense(self.matrix, rows, diff, scores)

    def add(self, rows: LabelArray, side: Sides, out: FloatArray) -> None:
        """Add some rows to `out`, or take them off where `side` is 0."""
        kmeans.add_dense(self.matrix, rows, side, out)


def _frequent_first(indices: npt.NDArray[np.uint32], n_columns: int) -> npt.NDArray[np.uint32]:
    """Return a number for each column, the smaller the more frequent it is in a sample."""
    counts = np.bincount(indices[::EVERY], minlength=n_columns)
    number = np.empty(n_columns, np.uint32)
    number[np.argsort(-counts, kind="stable")] = np.arange(n_columns, dtype=np.uint32)
    return number


def check_lengths(lengths: FloatArray) -> None:
    """Refuse embeddings of which one has no finite length."""
    if not np.all(np.isfinite(lengths)):
        bad = int(np.argmax(~np.isfinite(lengths)))
        raise DataError(
            f"the embedding of label {bad} has a NaN or infinite value: "
            "look for it in the features it was made from"
        )


def _spans(n: int, n_chunks: int) -> list[tuple[int, int]]:
    """Return the range of n cut into chunks of about one size: (start, stop) of each."""
    bounds = np.linspace(0, n, n_chunks + 1).astype(int).tolist()
    return list(itertools.pairwise(bounds))


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

    def score_chunk(span: tuple[int, int]) -> None:
        rows.score(members[slice(*span)], diff, scores[slice(*span)])

    for _ in range(max_iterations):
        team.map(score_chunk, _spans(n, CHUNKS))
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
    """Return the direction that separates the two sides of a sample, every n-th row."""
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
    spans = _spans(len(members), SUM_CHUNKS if len(members) > FEW else 1)

    def sum_chunk(span: tuple[int, int]) -> FloatArray:
        out = np.zeros(rows.n_features, np.float32)
        rows.add(members[slice(*span)], side[slice(*span)], out)
        return out

    total, *others = team.map(sum_chunk, spans)
    for other in others:
        total += other
    return total
