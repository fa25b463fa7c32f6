"""Transposes against scipy's."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels.transposing import transposed


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
