"""Transposes against scipy's; thinning and scaling of sparse rows against the slow twin."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels.sparse import copy_rows, measure_rows, transposed
from tests.kernels.twins import clustering as reference

SPREAD = np.concatenate([np.full(20, 3.0), np.full(20, 0.02)])


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(7, 5), (1, 5), (7, 1), (0, 5), (7, 0), (30, 40)])
def test_equals_scipy(shape, index):
    X = sp.random_array(shape, density=0.3, rng=0, format="csr")
    indptr, indices, values = transposed(
        X.indptr.astype(index), X.indices.astype(index), X.data, shape[1], np.float32
    )
    expected = X.tocsc()
    np.testing.assert_array_equal(indptr, expected.indptr)
    np.testing.assert_array_equal(indices, expected.indices)
    np.testing.assert_allclose(values, expected.data, rtol=1e-6)
    assert (indptr.dtype, indices.dtype, values.dtype) == (np.int64, np.int32, np.float32)


def test_a_pattern_needs_no_values():
    X = sp.csr_array(np.array([[0, 1, 1], [1, 0, 1]]))
    indptr, indices, values = transposed(X.indptr, X.indices, X.data, 3, None)
    assert (indptr.tolist(), indices.tolist(), len(values)) == ([0, 1, 2, 4], [1, 0, 0, 1], 0)


def test_entries_stored_twice_stay_twice_and_in_order():
    indptr, indices = np.array([0, 2, 4]), np.array([1, 1, 1, 0])
    found = transposed(indptr, indices, np.array([1, 2, 3, 4]), 2, np.int32)
    assert [part.tolist() for part in found] == [[0, 1, 4], [1, 0, 0, 1], [4, 1, 2, 3]]


def thinned(dense, min_weight, number=()):
    matrix = sp.csr_array(dense)
    n = matrix.shape[0]
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32)
    values = matrix.data.astype(np.float32)
    lengths, smallest = np.empty((2, n), np.float32)
    counts = np.full(n, -1, np.int64)
    for start, stop in ((0, n // 2), (n // 2, n)):
        measure_rows(indptr, values, min_weight, start, stop, lengths, smallest, counts)
    out = np.concatenate([[0], np.cumsum(counts)])
    arrays = out, np.empty(out[-1], np.uint32), np.empty(out[-1], np.float32)
    number = np.array(number, np.uint32)
    for start, stop in ((0, n // 2), (n // 2, n)):
        copy_rows(indptr, indices, values, lengths, smallest, start, stop, number, *arrays)
    return sp.csr_array((arrays[2], arrays[1].astype(np.int32), out), shape=matrix.shape)


@pytest.mark.parametrize("min_weight", [0, 0.01, 0.1, 0.3, 0.9])
def test_equals_its_twin(min_weight):
    dense = sp.random_array((70, 40), density=0.4, rng=0).toarray() ** 4
    dense[3] = 0
    dense[5] *= -100
    out = thinned(dense, min_weight)
    expected = reference.thinned_unit_rows(dense.astype(np.float32), min_weight)
    np.testing.assert_allclose(out.toarray(), expected, atol=1e-6)
    assert out.nnz == np.count_nonzero(expected)


def test_columns_take_other_numbers():
    dense = sp.random_array((20, 9), density=0.4, rng=0).toarray()
    number = np.random.default_rng(0).permutation(9)
    renumbered = np.zeros_like(dense)
    renumbered[:, number] = dense
    out = thinned(dense, 0.1, number)
    np.testing.assert_array_equal(out.toarray(), thinned(renumbered, 0.1).toarray())


def test_small_values_go_and_a_row_of_small_values_stays():
    rows = np.stack([SPREAD, np.ones(40)])
    assert np.diff(thinned(rows, 0.2).indptr).tolist() == [20, 40]


def test_no_rows_and_one_row():
    assert thinned(np.zeros((0, 3)), 0.1).shape == (0, 3)
    assert thinned(np.array([[0.0, -2.0]]), 0.1).toarray().tolist() == [[0, -1]]
