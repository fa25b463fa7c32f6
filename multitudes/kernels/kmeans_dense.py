"""Balanced spherical 2-means on the rows of a dense matrix; see `multitudes.kernels.kmeans`."""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.kmeans import (
    SIMD,
    Floats,
    Offsets,
    Rows,
    Sides,
    assign_sides,
    partition_rows,
    side_difference,
)

Matrix = Floats


@njit(cache=True, nogil=True, fastmath=SIMD)
def score_rows(
    matrix: Matrix,  # IN  (n_rows, n_columns), C order
    rows: Rows,  # IN  (n,)
    diff: Floats,  # IN  (n_columns,)
    scores: Floats,  # OUT (n,)
) -> None:
    """The product of each row with `diff`."""
    for i in range(len(rows)):
        total = np.float32(0)
        for j in range(len(diff)):
            total += matrix[rows[i], j] * diff[j]
        scores[i] = total


@njit(cache=True, nogil=True)
def add_rows(
    matrix: Matrix,  # IN  (n_rows, n_columns), C order
    rows: Rows,  # IN  (n,)
    side: Sides,  # IN  (n,)
    out: Floats,  # I/O (n_columns,)
) -> None:
    """Add the rows on the left to `out`, and take off those on the right."""
    for i in range(len(rows)):
        sign = np.float32(1) if side[i] else np.float32(-1)
        for j in range(len(out)):
            out[j] += sign * matrix[rows[i], j]


@njit(cache=True, nogil=True)
def two_means(
    matrix: Matrix,  # IN  (n_rows, n_columns), C order
    rows: Rows,  # IN  (n,)
    n_left: int,
    max_iterations: int,
    first: int,  # where in rows the left side starts
    second: int,  # where in rows the right side starts
    side: Sides,  # OUT (n,)
    diff: Floats,  # OUT (n_columns,): the direction that separates the sides
) -> int:
    """Balanced spherical 2-means; returns the number of iterations."""
    n = len(rows)
    scores, work = np.empty(n, np.float32), np.empty(n, np.float32)
    moved, moved_side = np.empty(n, np.int32), np.ones(n, np.uint8)
    left, total = np.zeros(len(diff), np.float32), np.zeros(len(diff), np.float32)
    add_rows(matrix, rows, moved_side, total)
    for r in range(n):
        side[r] = 0
    for j in range(len(diff)):
        diff[j] = matrix[rows[first], j] - matrix[rows[second], j]
    for iteration in range(max_iterations):
        score_rows(matrix, rows, diff, scores)
        n_moved = assign_sides(scores, n_left, side, moved, work)
        if n_moved == 0:
            return iteration
        for m in range(n_moved):
            moved_side[m] = side[moved[m]]
            moved[m] = rows[moved[m]]
        add_rows(matrix, moved[:n_moved], moved_side, left)
        side_difference(left, total, diff)
    return max_iterations


@njit(cache=True, nogil=True)
def split_nodes(
    matrix: Matrix,  # IN  (n_rows, n_columns), C order
    nodes: Offsets,  # IN  (n_nodes, 5): start, stop, n_left, first, second
    max_iterations: int,
    rows: Rows,  # I/O (n_rows,)
    diff: Floats,  # OUT (n_columns,): of the last node
) -> None:
    """Split one node after another in two; see `multitudes.kernels.kmeans.split_nodes`."""
    n = 0
    for i in range(len(nodes)):
        n = max(n, nodes[i, 1] - nodes[i, 0])
    side, work = np.empty(n, np.uint8), np.empty(n, np.int32)
    for i in range(len(nodes)):
        node, n_left = rows[nodes[i, 0] : nodes[i, 1]], nodes[i, 2]
        if n_left == 0:
            continue
        two_means(
            matrix, node, n_left, max_iterations, nodes[i, 3], nodes[i, 4], side[: len(node)], diff
        )
        partition_rows(node, side, n_left, work)
