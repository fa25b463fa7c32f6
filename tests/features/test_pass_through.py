import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import DataError, NotFittedError
from multitudes.features import PassThrough
from multitudes.store import build


def test_any_matrix_becomes_sorted_float32_csr():
    dense = np.array([[0, 2.5], [1, 0]])
    for given in (dense, sp.csr_matrix(dense), sp.csc_array(dense), sp.coo_array(dense)):
        X = PassThrough().fit_transform(given)
        assert isinstance(X, sp.csr_array)
        assert X.dtype == np.float32
        np.testing.assert_array_equal(X.toarray(), dense)


def test_unsorted_and_repeated_entries_are_put_right_in_a_copy():
    data, indices, indptr = np.ones(3, np.float32), np.array([2, 0, 2]), np.array([0, 3])
    given = sp.csr_array((data, indices, indptr), shape=(1, 3))
    X = PassThrough().fit_transform(given)
    assert X.indices.tolist() == [0, 2]
    assert X.data.tolist() == [1, 2]
    assert given.indices.tolist() == [2, 0, 2]


def test_normalize_leaves_the_users_matrix_alone():
    given = sp.csr_array(np.array([[3.0, 4.0]], np.float32))
    X = PassThrough(normalize=True).fit_transform(given)
    np.testing.assert_allclose(X.toarray(), [[0.6, 0.8]], atol=1e-6)
    assert given.data.tolist() == [3.0, 4.0]


def test_refusals():
    with pytest.raises(DataError, match="row 1, feature 0"):
        PassThrough().fit(sp.csr_array(np.array([[1.0, 0], [np.nan, 0]])))
    with pytest.raises(DataError, match="texts go through"):
        PassThrough().fit(["a text"])
    with pytest.raises(DataError, match="X has 3 features, but PassThrough is expecting 2"):
        PassThrough().fit(np.ones((1, 2))).transform(np.ones((1, 3)))
    with pytest.raises(DataError, match="numbers"):
        PassThrough().fit(np.array([["a", "b"]], dtype=object))
    with pytest.raises(NotFittedError):
        PassThrough().transform(np.ones((1, 2)))


def test_state_round_trip():
    loaded = build(PassThrough(normalize=True).fit(np.ones((1, 2))).to_state())
    assert loaded.get_params() == {"normalize": True}
    assert loaded.n_features_ == 2
