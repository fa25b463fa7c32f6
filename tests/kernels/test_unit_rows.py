"""Thinning and scaling of sparse rows against the slow twin."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels import reference
from multitudes.kernels.unit_rows import copy_rows, measure_rows

SPREAD = np.concatenate([np.full(20, 3.0), np.full(20, 0.02)])


def thinned(dense, min_weight):
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
    for start, stop in ((0, n // 2), (n // 2, n)):
        copy_rows(indptr, indices, values, lengths, smallest, start, stop, *arrays)
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


def test_small_values_go_and_a_row_of_small_values_stays():
    rows = np.stack([SPREAD, np.ones(40)])
    assert np.diff(thinned(rows, 0.2).indptr).tolist() == [20, 40]


def test_no_rows_and_one_row():
    assert thinned(np.zeros((0, 3)), 0.1).shape == (0, 3)
    assert thinned(np.array([[0.0, -2.0]]), 0.1).toarray().tolist() == [[0, -1]]
