"""Label embeddings: hand-computed values, a dense formula, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.labels import concatenate, embeddings, from_texts, pifa, pii

HALF = np.sqrt(0.5)


def random_problem(n=300, n_features=70, n_labels=40, random_state=0):
    X = sp.random_array(
        (n, n_features), density=0.1, rng=random_state, format="csr", dtype=np.float32
    )
    Y = sp.random_array(
        (n, n_labels), density=0.05, rng=random_state + 1, format="csr", dtype=np.float32
    )
    return X, Y


def test_pifa_by_hand():
    X = sp.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]]))
    Y = sp.csr_array(np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]))
    # Instance 0 has two labels, so it weighs 1 / sqrt 2; instance 1 weighs 1.
    third = np.array([HALF, 1]) / np.sqrt(1.5)
    np.testing.assert_allclose(pifa(X, Y).toarray(), [[1, 0], [0, 0], third], rtol=1e-6)


def test_pifa_is_its_formula_for_sparse_and_dense_features():
    X, Y = random_problem()
    lengths = np.linalg.norm(Y.toarray(), axis=1, keepdims=True)
    product = (Y.toarray() / np.where(lengths > 0, lengths, 1)).T @ X.toarray()
    norms = np.linalg.norm(product, axis=1, keepdims=True)
    expected = product / np.where(norms > 0, norms, 1)
    sparse, dense = pifa(X, Y), pifa(X.toarray(), Y)
    np.testing.assert_allclose(sparse.toarray(), expected, atol=1e-6)
    np.testing.assert_allclose(dense, expected, atol=1e-6)
    assert isinstance(sparse, sp.csr_array)
    assert isinstance(dense, np.ndarray)
    assert sparse.dtype == dense.dtype == np.float32
    assert sparse.has_sorted_indices


def test_pifa_takes_matrices_of_any_kind():
    X, Y = random_problem()
    expected = pifa(X, Y).toarray()
    unsorted = X.tocsc().tocsr()
    unsorted.indices[:2], unsorted.data[:2] = unsorted.indices[1::-1], unsorted.data[1::-1]
    unsorted.has_sorted_indices = False
    for other in (sp.csr_matrix(X), X.astype(np.float64), X.tocoo(), unsorted):
        np.testing.assert_allclose(pifa(other, Y.tocsc()).toarray(), expected, atol=1e-6)


def test_pifa_is_the_same_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(embeddings, "BLOCK", 50)
    X, Y = random_problem()
    one, two = pifa(X, Y, n_jobs=1), pifa(X, Y, n_jobs=2)
    np.testing.assert_array_equal(one.indptr, two.indptr)
    np.testing.assert_array_equal(one.indices, two.indices)
    np.testing.assert_array_equal(one.data, two.data)
    monkeypatch.undo()
    np.testing.assert_array_equal(pifa(X, Y).toarray(), one.toarray())


def test_pifa_leaves_its_input_alone():
    X, Y = random_problem()
    before = X.copy(), Y.copy()
    pifa(X, Y)
    assert (before[0] != X).nnz == (before[1] != Y).nnz == 0


def test_pifa_without_any_label_or_feature_is_zero():
    assert pifa(sp.csr_array((3, 4)), sp.csr_array(np.ones((3, 2)))).nnz == 0
    assert pifa(sp.csr_array(np.ones((3, 4))), sp.csr_array((3, 2))).shape == (2, 4)


@pytest.mark.parametrize("X", [sp.csr_array((4, 2)), np.zeros((4, 2)), np.zeros(5), [["a"]]])
def test_pifa_refuses_rows_that_do_not_match(X):
    with pytest.raises(DataError, match="one row per instance|X must be a matrix of numbers"):
        pifa(X, sp.csr_array((5, 3)))


def test_pii_is_the_normalized_column():
    Y = sp.csr_array(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]))
    np.testing.assert_allclose(pii(Y).toarray(), [[HALF, HALF], [0, 1], [0, 0]], rtol=1e-6)


def test_from_texts_normalizes_what_the_features_give():
    class Lengths:
        def transform(self, texts):
            return np.array([[len(text), len(text)] for text in texts])

    class SparseLengths:
        def transform(self, texts):
            return sp.csr_array(Lengths().transform(texts))

    expected = [[HALF, HALF], [0, 0]]
    np.testing.assert_allclose(from_texts(["abc", ""], Lengths()), expected, rtol=1e-6)
    np.testing.assert_allclose(
        from_texts(["abc", ""], SparseLengths()).toarray(), expected, rtol=1e-6
    )


def test_concatenate_weighs_blocks_whatever_their_scale():
    a, b = np.array([[3.0, 0.0], [0.0, 0.0]]), np.array([[0.5], [2.0]])
    expected = np.array([[1, 0, 2], [0, 0, np.sqrt(5)]]) / np.sqrt(5)
    np.testing.assert_allclose(concatenate([a, b], weights=[1, 2]), expected, rtol=1e-6)
    mixed = concatenate([sp.csr_array(a), b], weights=[1, 2])
    np.testing.assert_allclose(mixed.toarray(), expected, rtol=1e-6)
    assert a[0, 0] == 3.0  # the caller's own


def test_concatenate_refuses_what_does_not_fit():
    block = np.ones((2, 2))
    with pytest.raises(DataError, match=r"heights \[2, 3\]"):
        concatenate([block, np.ones((3, 1))])
    with pytest.raises(ConfigError, match="1 blocks and 2 weights"):
        concatenate([block], weights=[1, 2])
    with pytest.raises(ConfigError, match="0 blocks"):
        concatenate([])
    for weights in ([-1.0], [0.0], [np.nan]):
        with pytest.raises(ConfigError, match="weights must"):
            concatenate([block], weights=weights)
