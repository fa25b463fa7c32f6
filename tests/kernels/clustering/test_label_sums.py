"""Sums of rows per label against their slow twin."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels.clustering.label_sums import sum_rows_by_label
from tests.kernels.twins import clustering as reference


def summed(X, weights):
    by_label = sp.csc_array(weights)
    most = int(np.diff(X.indptr)[by_label.indices].sum())
    indptr = np.full(weights.shape[1] + 1, -1, np.int64)
    indices, values = np.empty(most, np.uint32), np.empty(most, np.float32)
    sum_rows_by_label(
        X.indptr.astype(np.int64),
        X.indices.astype(np.uint32),
        X.data.astype(np.float32),
        by_label.indptr.astype(np.int64),
        by_label.indices.astype(np.int32),
        by_label.data.astype(np.float32),
        X.shape[1],
        indptr,
        indices,
        values,
    )
    end = indptr[-1]
    shape = (weights.shape[1], X.shape[1])
    return sp.csr_array((values[:end], indices[:end].astype(np.int32), indptr), shape=shape)


@pytest.mark.parametrize("n_features", [1, 63, 64, 65, 4096, 4097, 9000])
def test_equals_its_twin_with_sorted_columns(n_features):
    X = sp.random_array((80, n_features), density=0.1, rng=0, format="csr")
    weights = sp.random_array((80, 30), density=0.1, rng=1, format="csr")
    out = summed(X, weights)
    expected = reference.sum_rows_by_label(X.toarray(), weights.toarray())
    np.testing.assert_allclose(out.toarray(), expected, atol=1e-6)
    for start, stop in zip(out.indptr[:-1], out.indptr[1:], strict=True):
        assert np.all(np.diff(out.indices[start:stop]) > 0)


def test_every_bit_of_a_word_and_every_word_of_a_block_is_read():
    X = sp.csr_array(np.ones((1, 2 * 4096 + 3)))
    out = summed(X, sp.csr_array(np.ones((1, 1))))
    np.testing.assert_array_equal(out.indices, np.arange(2 * 4096 + 3))


def test_empty_labels_and_empty_rows():
    X = sp.csr_array(np.array([[0.0, 2.0], [0.0, 0.0]]))
    weights = sp.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]))
    assert summed(X, weights).toarray().tolist() == [[0, 0], [0, 1], [0, 0]]


def test_values_that_cancel_give_a_zero_row():
    X = sp.csr_array(np.array([[1.0], [-1.0]]))
    assert summed(X, sp.csr_array(np.ones((2, 1)))).toarray().tolist() == [[0]]
