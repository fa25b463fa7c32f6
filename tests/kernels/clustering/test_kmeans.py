"""The clustering kernels against their slow twins."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels.clustering import kmeans
from tests.kernels.twins import clustering as reference


def unit_rows(n, n_columns, seed, density=0.3):
    matrix = sp.random_array((n, n_columns), density=density, rng=seed, format="csr")
    dense = matrix.toarray().astype(np.float32)
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    return (dense / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def csr_arrays(dense):
    matrix = sp.csr_array(dense)
    return (
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.uint32),
        matrix.data.astype(np.float32),
    )


MATRICES = {
    "random": unit_rows(60, 25, seed=0),
    "two rows": unit_rows(2, 6, seed=1, density=0.8),
    "duplicates": np.tile(unit_rows(9, 12, seed=2), (3, 1)),
    "all the same": np.tile(unit_rows(1, 12, seed=3, density=0.9), (11, 1)),
    "all zero": np.zeros((7, 4), np.float32),
    "some zero": np.concatenate([unit_rows(20, 8, seed=4), np.zeros((9, 8), np.float32)]),
    "one column": np.ones((5, 1), np.float32),
}


@pytest.fixture(params=MATRICES, ids=lambda name: name.replace(" ", "-"))
def matrix(request):
    return MATRICES[request.param]


@pytest.mark.parametrize("n", [1, 2, 3, 50, 1000])
@pytest.mark.parametrize("n_values", [1, 3, 10_000])
def test_select_smallest_is_the_sorted_value(n, n_values):
    values = np.random.default_rng(n).integers(0, n_values, n).astype(np.float32)
    expected = np.sort(values)
    for rank in {0, n // 3, n // 2, n - 1}:
        assert kmeans.select_smallest(values.copy(), rank) == expected[rank]


@pytest.mark.parametrize("n_values", [1, 2, 7, 10_000])
def test_assign_sides_sends_the_best_left_and_reports_who_moved(n_values):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, n_values, 101).astype(np.float32)
    for n_left in (1, 50, 100):
        before = rng.integers(0, 2, 101).astype(np.uint8)
        side, moved = before.copy(), np.full(101, -1, np.int32)
        n_moved = kmeans.assign_sides(scores, n_left, side, moved, np.empty(101, np.float32))
        expected = reference.best_go_left(scores, n_left)
        np.testing.assert_array_equal(side, expected)
        np.testing.assert_array_equal(moved[:n_moved], np.flatnonzero(before != expected))


def test_side_difference_is_between_unit_vectors():
    rng = np.random.default_rng(0)
    left, right = rng.random((2, 30), dtype=np.float32)
    out = np.empty(30, np.float32)
    kmeans.side_difference(left, left + right, out)
    np.testing.assert_allclose(out, reference.side_difference(left, right), atol=1e-6)


def test_side_difference_takes_rounding_noise_for_zero():
    left = np.array([0.1, 0.2, 0.7], np.float32)
    total = left + np.float32(1e-8)  # what is left of the right side after rows came and went
    out = np.empty(3, np.float32)
    kmeans.side_difference(left, total, out)
    np.testing.assert_allclose(out, left / np.linalg.norm(left), rtol=1e-6)


def test_partition_keeps_the_order_of_both_sides():
    rows = np.array([5, 1, 9, 2, 7], np.int32)
    side = np.array([0, 1, 0, 1, 1], np.uint8)
    kmeans.partition_rows(rows, side, 3, np.empty(5, np.int32))
    assert rows.tolist() == [1, 2, 7, 5, 9]


def test_gathered_rows_are_the_same_rows_with_other_column_numbers(matrix):
    arrays = csr_arrays(matrix)
    rows = np.arange(0, len(matrix), 2, dtype=np.int32)
    nnz, n_columns = max(1, len(arrays[1])), matrix.shape[1]
    ids, columns = np.zeros(n_columns, np.uint32), np.zeros(n_columns, np.uint32)
    indptr, indices = np.zeros(len(rows) + 1, np.int64), np.zeros(nnz, np.uint32)
    values, total = np.zeros(nnz, np.float32), np.zeros(n_columns, np.float32)
    used = kmeans.gather_rows(*arrays, rows, ids, columns, indptr, indices, values, total)
    assert not ids.any()
    back = np.zeros((len(rows), n_columns), np.float32)
    for i in range(len(rows)):
        span = slice(indptr[i], indptr[i + 1])
        back[i, columns[indices[span]]] = values[span]
    np.testing.assert_array_equal(back, matrix[rows])
    np.testing.assert_allclose(
        total[:used], matrix[rows].sum(axis=0)[columns[:used]], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_scores_and_sums(kind, matrix):
    head = csr_arrays(matrix) if kind == "sparse" else (matrix,)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(matrix)).astype(np.int32)
    side = rng.integers(0, 2, len(matrix)).astype(np.uint8)
    diff = rng.normal(size=matrix.shape[1]).astype(np.float32)
    scores, out = np.empty(len(rows), np.float32), np.ones(matrix.shape[1], np.float32)
    getattr(kmeans, f"score_{kind}")(*head, rows, diff, scores)
    getattr(kmeans, f"add_{kind}")(*head, rows, side, out)
    np.testing.assert_allclose(scores, matrix[rows] @ diff, atol=1e-5)
    signs = np.where(side, 1, -1)[:, None]
    np.testing.assert_allclose(out, 1 + (matrix[rows] * signs).sum(axis=0), atol=1e-4)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize("max_iterations", [1, 2, 20])
def test_split_nodes_equals_its_twin(kind, matrix, max_iterations):
    n = len(matrix)
    half, quarter = n // 2, n // 4
    nodes = np.array(
        [
            [0, n, half, 0, n - 1],
            [0, half, quarter, 0, max(half - 1, 0)],
            [half, n, 0, 0, 0],  # to be left alone
        ],
        np.int64,
    )
    rows, diff = np.arange(n, dtype=np.int32), np.zeros(matrix.shape[1], np.float32)
    if kind == "sparse":
        arrays = csr_arrays(matrix)
        kmeans.split_sparse(*arrays, matrix.shape[1], nodes, max_iterations, rows, diff)
    else:
        kmeans.split_dense(matrix, nodes, max_iterations, rows, diff)
    expected = reference.split_nodes(matrix, nodes, max_iterations, np.arange(n))
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_the_direction_separates_the_sides(kind):
    matrix = MATRICES["random"]
    rows, diff = np.arange(60, dtype=np.int32), np.full(25, 9, np.float32)
    nodes = np.array([[0, 60, 20, 3, 40]], np.int64)
    if kind == "sparse":
        kmeans.split_sparse(*csr_arrays(matrix), 25, nodes, 50, rows, diff)
    else:
        kmeans.split_dense(matrix, nodes, 50, rows, diff)
    scores = matrix[rows] @ diff
    assert scores[:20].min() > scores[20:].max()


def test_two_groups_are_told_apart():
    rng = np.random.default_rng(0)
    matrix = np.zeros((40, 20), np.float32)
    group = rng.permutation(np.repeat([0, 1], 20))
    matrix[np.arange(40), 10 * group] = 1
    matrix[np.arange(40), 10 * group + rng.integers(1, 10, 40)] = 0.5
    first, second = np.flatnonzero(group == 0)[0], np.flatnonzero(group == 1)[0]
    rows, diff = np.arange(40, dtype=np.int32), np.zeros(20, np.float32)
    nodes = np.array([[0, 40, 20, first, second]], np.int64)
    kmeans.split_sparse(*csr_arrays(matrix), 20, nodes, 20, rows, diff)
    np.testing.assert_array_equal(rows[:20], np.flatnonzero(group == 0))
