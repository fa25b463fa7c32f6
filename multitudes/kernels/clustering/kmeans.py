"""Balanced spherical 2-means on the rows of a sparse or dense matrix, and its recursion.

One step: with the normalized sums a and b of the two sides, row r scores r.(a - b); the `n_left`
best rows go left, ties to the earlier row. Everything here is sequential and releases the GIL:
`multitudes.labels.tree_building` runs many calls at once, so a result never depends on the number
of threads.

The columns of a sparse node are renumbered, so that the sums of the sides stay in cache, and those
sums are updated by the rows that moved. Indices are unsigned: numba then drops its test for
negative ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

from multitudes.kernels.arrays import Bytes, Floats, Ints, Longs, UInts
from multitudes.kernels.compiling import COMPILED, kernel, merged
from multitudes.kernels.rows import SparseRows

# Sums may be reordered into SIMD lanes; infinities and NaN keep their meaning.
SIMD = {"reassoc", "contract", "nsz", "arcp"}
# A side whose squared norm is below this part of the total's is rounding noise: a zero vector.
NOISE = 1e-9


class SplitRoom(NamedTuple):
    """What `two_means` works with, for as many rows as the largest node has."""

    everyone: Ints  # 0, 1, 2, ...
    side: Bytes
    scores: Floats
    work: Floats
    moved: Ints
    moved_side: Bytes
    left: Floats  # (n_columns,)


@merged
def select_smallest(
    values: Floats,  # TMP (n,): reordered
    rank: int,  # 0 asks for the smallest
) -> np.float32:
    """Return the value of that rank. Ties do not slow it down."""
    low, high = 0, len(values) - 1
    while low < high:
        a, b, c = values[low], values[(low + high) // 2], values[high]
        pivot = max(min(a, b), min(max(a, b), c))
        below, i, above = low, low, high
        while i <= above:
            v = values[i]
            if v < pivot:
                values[i] = values[below]
                values[below] = v
                below += 1
                i += 1
            elif v > pivot:
                values[i] = values[above]
                values[above] = v
                above -= 1
            else:
                i += 1
        if rank < below:
            high = below - 1
        elif rank > above:
            low = above + 1
        else:
            break
    found: np.float32 = values[rank]
    return found


@kernel
def assign_sides(
    scores: Floats,  # IN  (n,)
    n_left: int,
    side: Bytes,  # I/O (n,)
    moved: Ints,  # OUT (n,): the rows that changed sides, ascending
    work: Floats,  # TMP (n,)
) -> int:
    """Send the `n_left` best scores left, ties to the earlier row; returns how many moved."""
    n = len(scores)
    for r in range(n):
        work[r] = scores[r]
    threshold = select_smallest(work, n - n_left)
    room = n_left
    for r in range(n):
        room -= scores[r] > threshold
    n_moved = 0
    for r in range(n):
        new = scores[r] > threshold
        if scores[r] == threshold and room > 0:
            new = True
            room -= 1
        if new != side[r]:
            side[r] = new
            moved[n_moved] = r
            n_moved += 1
    return n_moved


@njit(fastmath=SIMD, **COMPILED)
def side_difference(
    left: Floats,  # IN  (n_columns,): sum of the left side
    total: Floats,  # IN  (n_columns,): sum of both sides
    diff: Floats,  # OUT (n_columns,)
) -> None:
    """The direction left / |left| - right / |right|; a zero side stays zero."""
    square_left, square_right, square_total = 0.0, 0.0, 0.0
    for j in range(len(diff)):
        right = total[j] - left[j]
        square_left += left[j] * left[j]
        square_right += right * right
        square_total += total[j] * total[j]
    noise = NOISE * square_total
    scale_left = np.float32(1 / np.sqrt(square_left) if square_left > noise else 0)
    scale_right = np.float32(1 / np.sqrt(square_right) if square_right > noise else 0)
    for j in range(len(diff)):
        diff[j] = left[j] * scale_left - (total[j] - left[j]) * scale_right


@kernel
def partition_rows(
    rows: Ints,  # I/O (n,)
    side: Bytes,  # IN  (n,)
    n_left: int,
    work: Ints,  # TMP (n,)
) -> None:
    """Bring the left rows to the front; both sides keep their order."""
    a, b = 0, n_left
    for r in range(len(rows)):
        if side[r]:
            work[a] = rows[r]
            a += 1
        else:
            work[b] = rows[r]
            b += 1
    for r in range(len(rows)):
        rows[r] = work[r]


@merged
def gather_rows(
    indptr: Longs,  # IN  (n_rows + 1,)
    indices: UInts,  # IN  (nnz,)
    values: Floats,  # IN  (nnz,)
    rows: Ints,  # IN  (n,)
    ids: UInts,  # TMP (n_columns,): zeros before and after
    columns: UInts,  # OUT (n_columns or less,): old number of each new column
    local_indptr: Longs,  # OUT (n + 1,)
    local_indices: UInts,  # OUT (nnz of the rows,)
    local_values: Floats,  # OUT (nnz of the rows,)
    total: Floats,  # OUT like columns: sum of the rows
) -> np.uint32:
    """Copy some rows with their columns renumbered; returns the number of columns in use."""
    n_used = np.uint32(0)
    at = np.uint64(0)
    local_indptr[0] = 0
    for i in range(len(rows)):
        for k in range(np.uint64(indptr[rows[i]]), np.uint64(indptr[rows[i] + 1])):
            j, v = indices[k], values[k]
            new = ids[j]
            if new == 0:  # ids are kept one up, so that zero means not seen
                columns[n_used] = j
                total[n_used] = 0
                n_used += np.uint32(1)
                ids[j] = new = n_used
            new -= np.uint32(1)
            total[new] += v
            local_indices[at] = new
            local_values[at] = v
            at += np.uint64(1)
        local_indptr[i + 1] = at
    for t in range(n_used):
        ids[columns[t]] = 0
    return n_used


@kernel
def score_sparse(
    indptr: Longs,  # IN  (n_rows + 1,)
    indices: UInts,  # IN  (nnz,)
    values: Floats,  # IN  (nnz,)
    rows: Ints,  # IN  (n,)
    diff: Floats,  # IN  (n_columns,)
    scores: Floats,  # OUT (n,)
) -> None:
    """The product of each row with `diff`."""
    one, four = np.uint64(1), np.uint64(4)
    for i in range(len(rows)):
        # Four sums by hand: three times as fast as the gather instructions SIMD would use.
        a, b, c, d = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
        k, stop = np.uint64(indptr[rows[i]]), np.uint64(indptr[rows[i] + 1])
        while k + four <= stop:
            a += values[k] * diff[indices[k]]
            b += values[k + one] * diff[indices[k + one]]
            c += values[k + np.uint64(2)] * diff[indices[k + np.uint64(2)]]
            d += values[k + np.uint64(3)] * diff[indices[k + np.uint64(3)]]
            k += four
        while k < stop:
            a += values[k] * diff[indices[k]]
            k += one
        scores[i] = (a + b) + (c + d)


@kernel
def add_sparse(
    indptr: Longs,  # IN  (n_rows + 1,)
    indices: UInts,  # IN  (nnz,)
    values: Floats,  # IN  (nnz,)
    rows: Ints,  # IN  (n,)
    side: Bytes,  # IN  (n,)
    out: Floats,  # I/O (n_columns,)
) -> None:
    """Add the rows on the left to `out`, and take off those on the right."""
    for i in range(len(rows)):
        sign = np.float32(1) if side[i] else np.float32(-1)
        for k in range(np.uint64(indptr[rows[i]]), np.uint64(indptr[rows[i] + 1])):
            out[indices[k]] += sign * values[k]


@njit(fastmath=SIMD, **COMPILED)
def score_dense(
    matrix: Floats,  # IN  (n_rows, n_columns), C order
    rows: Ints,  # IN  (n,)
    diff: Floats,  # IN  (n_columns,)
    scores: Floats,  # OUT (n,)
) -> None:
    """The product of each row with `diff`."""
    for i in range(len(rows)):
        total = np.float32(0)
        for j in range(len(diff)):
            total += matrix[rows[i], j] * diff[j]
        scores[i] = total


@kernel
def add_dense(
    matrix: Floats,  # IN  (n_rows, n_columns), C order
    rows: Ints,  # IN  (n,)
    side: Bytes,  # IN  (n,)
    out: Floats,  # I/O (n_columns,)
) -> None:
    """Add the rows on the left to `out`, and take off those on the right."""
    for i in range(len(rows)):
        sign = np.float32(1) if side[i] else np.float32(-1)
        for j in range(len(out)):
            out[j] += sign * matrix[rows[i], j]


def _score(matrix: Any, rows: Ints, diff: Floats, scores: Floats) -> None:
    """`score_sparse` or `score_dense`."""


def _add(matrix: Any, rows: Ints, side: Bytes, out: Floats) -> None:
    """`add_sparse` or `add_dense`."""


@overload(_score, inline="always")
def _compile_score(matrix: Any, rows: Any, diff: Any, scores: Any) -> Any:
    def sparse(matrix: Any, rows: Any, diff: Any, scores: Any) -> None:
        score_sparse(matrix.indptr, matrix.indices, matrix.values, rows, diff, scores)

    def dense(matrix: Any, rows: Any, diff: Any, scores: Any) -> None:
        score_dense(matrix, rows, diff, scores)

    return sparse if isinstance(matrix, types.BaseTuple) else dense


@overload(_add, inline="always")
def _compile_add(matrix: Any, rows: Any, side: Any, out: Any) -> Any:
    def sparse(matrix: Any, rows: Any, side: Any, out: Any) -> None:
        add_sparse(matrix.indptr, matrix.indices, matrix.values, rows, side, out)

    def dense(matrix: Any, rows: Any, side: Any, out: Any) -> None:
        add_dense(matrix, rows, side, out)

    return sparse if isinstance(matrix, types.BaseTuple) else dense


@merged
def two_means(
    matrix: Any,  # IN  SparseRows, or float32 (n_rows, n_columns) in C order
    rows: Ints,  # IN  (n,): which of its rows
    total: Floats,  # IN  (n_columns,): sum of the rows
    n_left: int,
    max_iterations: int,
    first: int,  # where in `rows` the left side starts
    second: int,  # where in `rows` the right side starts
    room: SplitRoom,  # TMP; OUT the first n of `side`
    diff: Floats,  # OUT (n_columns,): the direction that separates the sides
) -> int:
    """Balanced spherical 2-means; returns the number of iterations."""
    n = len(rows)
    scores, work, side = room.scores[:n], room.work[:n], room.side[:n]
    moved, moved_side, left = room.moved, room.moved_side, room.left[: len(total)]
    for r in range(n):
        side[r] = 0
    for j in range(len(diff)):
        diff[j] = 0
        left[j] = 0
    moved[0], moved_side[0] = rows[first], 1
    _add(matrix, moved[:1], moved_side, diff)
    moved[0], moved_side[0] = rows[second], 0
    _add(matrix, moved[:1], moved_side, diff)
    for iteration in range(max_iterations):
        _score(matrix, rows, diff, scores)
        n_moved = assign_sides(scores, n_left, side, moved, work)
        if n_moved == 0:
            return iteration
        for m in range(n_moved):
            moved_side[m] = side[moved[m]]
            moved[m] = rows[moved[m]]
        _add(matrix, moved[:n_moved], moved_side, left)
        side_difference(left, total, diff)
    return max_iterations


def split_sparse(
    indptr: Longs,  # IN  (n_rows + 1,)
    indices: UInts,  # IN  (nnz,)
    values: Floats,  # IN  (nnz,)
    n_columns: int,
    nodes: Longs,  # IN  (n_nodes, 5): start, stop, n_left, first, second
    max_iterations: int,
    rows: Ints,  # I/O (n_rows,)
    diff: Floats,  # OUT (n_columns,): of the last node; or (0,) where nobody asks
) -> None:
    """Split one node after another in two.

    A node is the range rows[start:stop]; it is left alone where n_left is 0. On return the rows of
    its left side come first, and each side keeps its order. Parents must come before children.
    """
    if len(nodes) == 0:
        return
    low, high = nodes[:, 0].min(), nodes[:, 1].max()
    ends = np.zeros(high - low + 1, np.int64)
    np.cumsum(indptr[rows[low:high] + 1] - indptr[rows[low:high]], out=ends[1:])
    nnz = int((ends[nodes[:, 1] - low] - ends[nodes[:, 0] - low]).max())
    n_used = min(nnz, n_columns)
    room = _room(nodes, n_used)
    n = len(room.everyone)
    local = SparseRows(
        np.empty(n + 1, np.int64), np.empty(nnz, np.uint32), np.empty(nnz, np.float32)
    )
    ids, columns = np.zeros(n_columns, np.uint32), np.empty(n_used, np.uint32)
    total, local_diff = np.empty(n_used, np.float32), np.empty(n_used, np.float32)
    split_sparse_nodes(
        indptr, indices, values, n_columns, nodes, max_iterations, rows, local, ids, columns, total,
        local_diff, room, diff,
    )  # fmt: skip


def _room(nodes: Longs, n_columns: int) -> SplitRoom:
    """Return room for any of some nodes, whose rows have so many columns at most."""
    n = int((nodes[:, 1] - nodes[:, 0]).max())
    return SplitRoom(
        np.arange(n, dtype=np.int32), np.empty(n, np.uint8), np.empty(n, np.float32),
        np.empty(n, np.float32), np.empty(n, np.int32), np.empty(n, np.uint8),
        np.empty(n_columns, np.float32),
    )  # fmt: skip


@kernel
def split_sparse_nodes(
    indptr: Longs, indices: UInts, values: Floats,  # IN
    n_columns: int, nodes: Longs, max_iterations: int,  # IN
    rows: Ints,  # I/O (n_rows,)
    local: SparseRows,  # TMP: as many rows and values as the largest nodes have
    ids: UInts,  # TMP (n_columns,): zeros before and after
    columns: UInts, total: Floats, local_diff: Floats,  # TMP (columns in use by any node,)
    room: SplitRoom,  # TMP
    diff: Floats,  # OUT
) -> None:  # fmt: skip
    """What `split_sparse` does, in memory that is there."""
    for i in range(len(nodes)):
        node, n_left = rows[nodes[i, 0] : nodes[i, 1]], nodes[i, 2]
        if n_left == 0:
            continue
        used = gather_rows(
            indptr, indices, values, node, ids, columns,
            local.indptr, local.indices, local.values, total,
        )  # fmt: skip
        two_means(
            local, room.everyone[: len(node)], total[:used], n_left, max_iterations,
            nodes[i, 3], nodes[i, 4], room, local_diff[:used],
        )  # fmt: skip
        partition_rows(node, room.side, n_left, room.moved)
        if len(diff) > 0 and i == len(nodes) - 1:
            for j in range(n_columns):
                diff[j] = 0
            for t in range(used):
                diff[columns[t]] = local_diff[t]


def split_dense(
    matrix: Floats,  # IN  (n_rows, n_columns), C order
    nodes: Longs,  # IN  (n_nodes, 5): start, stop, n_left, first, second
    max_iterations: int,
    rows: Ints,  # I/O (n_rows,)
    diff: Floats,  # OUT (n_columns,): of the last node
) -> None:
    """Split one node after another in two, as `split_sparse` does."""
    if len(nodes) > 0:
        room = _room(nodes, len(diff))
        total, everyone = np.empty(len(diff), np.float32), np.ones(len(room.side), np.uint8)
        split_dense_nodes(matrix, nodes, max_iterations, rows, total, everyone, room, diff)


@kernel
def split_dense_nodes(
    matrix: Floats, nodes: Longs, max_iterations: int,  # IN
    rows: Ints,  # I/O (n_rows,)
    total: Floats,  # TMP (n_columns,)
    everyone: Bytes,  # IN  (rows of the largest node,): ones
    room: SplitRoom,  # TMP
    diff: Floats,  # OUT (n_columns,)
) -> None:  # fmt: skip
    """What `split_dense` does, in memory that is there."""
    for i in range(len(nodes)):
        node, n_left = rows[nodes[i, 0] : nodes[i, 1]], nodes[i, 2]
        if n_left == 0:
            continue
        for j in range(len(total)):
            total[j] = 0
        add_dense(matrix, node, everyone, total)
        two_means(matrix, node, total, n_left, max_iterations, nodes[i, 3], nodes[i, 4], room, diff)
        partition_rows(node, room.side, n_left, room.moved)
