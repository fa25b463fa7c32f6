"""Rows of sparse and dense matrices, added up and multiplied alike."""

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from multitudes.kernels.rows import SparseRows, add_row, dot_row, gather_rows, n_stored

WEIGHTS = np.array([1, 7, 1, 2], np.float32)
DENSE = np.array([[0, 2, 0, -1], [0, 0, 0, 0], [3, 0, 0, 5]], np.float32)


def rows_of(sparse):
    X = sp.csr_array(DENSE)
    parts = X.indptr.astype(np.int64), X.indices.view(np.uint32), X.data
    return SparseRows(*parts) if sparse else DENSE


@njit
def added(rows, i, total):
    add_row(rows, i, np.float32(2), total)
    return dot_row(rows, i, total)


@njit
def gathered(rows, instances, weights, local_of, total):
    found = gather_rows(rows, instances, weights, local_of, total)
    return n_stored(rows, instances), found


@pytest.mark.parametrize("sparse", [True, False])
def test_rows_are_added_and_multiplied(sparse):
    total = np.array([1, 1, 0, 1], np.float32)
    assert added(rows_of(sparse), 0, total) == 11
    assert total.tolist() == [1, 5, 0, -1]
    assert added(rows_of(sparse), 1, total) == 0
    assert total.tolist() == [1, 5, 0, -1]


def test_sparse_rows_are_gathered_with_features_numbered_as_they_are_met():
    instances = np.array([2, 1, 0, 2], np.int32)
    local_of, total = np.zeros(4, np.uint32), np.zeros(4, np.float32)
    stored, (rows, numbers, n_features) = gathered(
        rows_of(True), instances, WEIGHTS, local_of, total
    )
    assert (stored, n_features, numbers.tolist()) == (6, 3, [0, 1, 2, 3])
    found = sp.csr_array((rows.values, rows.indices.view(np.int32), rows.indptr), shape=(4, 3))
    np.testing.assert_array_equal(found.toarray(), DENSE[instances][:, [0, 3, 1]])
    assert total.tolist() == [9, 14, 2, 0]
    assert not local_of.any()


def test_dense_rows_stay_where_they_are():
    instances = np.array([2, 1, 0, 2], np.int32)
    local_of, total = np.zeros(4, np.uint32), np.zeros(4, np.float32)
    stored, (rows, numbers, n_features) = gathered(DENSE, instances, WEIGHTS, local_of, total)
    assert (stored, n_features, numbers.tolist()) == (0, 4, instances.tolist())
    np.testing.assert_array_equal(rows, DENSE)
    assert total.tolist() == [9, 2, 0, 14]


def test_many_rows_are_gathered_in_order():
    """More than are asked for ahead."""
    rng = np.random.default_rng(0)
    X = sp.random_array((50, 30), density=0.2, rng=rng, format="csr").astype(np.float32)
    rows = SparseRows(X.indptr.astype(np.int64), X.indices.astype(np.uint32), X.data)
    instances = rng.integers(0, 50, 100).astype(np.int32)
    total = np.zeros(30, np.float32)
    _, (found, _, _) = gathered(
        rows, instances, np.ones(100, np.float32), np.zeros(30, np.uint32), total
    )
    np.testing.assert_array_equal(found.values, X[instances].data)
    np.testing.assert_allclose(np.sort(total), np.sort(X[instances].sum(axis=0)), rtol=1e-5)


def test_no_rows():
    nothing = np.zeros(0, np.int32)
    total = np.zeros(4, np.float32)
    _, (rows, _, n_features) = gathered(
        rows_of(True), nothing, np.zeros(0, np.float32), np.zeros(4, np.uint32), total
    )
    assert (len(rows.values), n_features) == (0, 0)
