"""Scores of given pairs: what a search that misses nothing finds."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes import Disentangled, OneVsAll, Parabel, XRLinear
from multitudes.errors import DataError, NotFittedError

SMALL = {"branching": 3, "max_leaf_size": 4, "beam_width": 50}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    Y = (rng.random((120, 30)) < 0.07).astype(np.float32)
    Y[np.arange(120), rng.integers(0, 30, 120)] = 1
    X = Y @ (rng.random((30, 25)) < 0.15) + (rng.random((120, 25)) < 0.1)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y)


def everything(shape):
    return sp.csr_array(np.ones(shape, np.float32))


@pytest.mark.parametrize(
    "model",
    [
        XRLinear(**SMALL),
        XRLinear(**SMALL, score_function="sigmoid", weights="int8"),
        XRLinear(**SMALL, score_function="l1-hinge", weights="float32"),
        OneVsAll(),
        Parabel(n_trees=2, max_leaf_size=4, beam_width=50),
        Disentangled(XRLinear(**SMALL)),
    ],
    ids=["xr-linear", "sigmoid", "l1-hinge", "one-vs-all", "parabel", "disentangled"],
)
def test_equals_a_search_that_misses_nothing(model, data):
    X, Y = data
    model.fit(X, Y)
    found = model.predict(X, top_k=30)
    assert (found.labels >= 0).all()
    scored = model.score_pairs(X, everything(Y.shape))
    np.testing.assert_allclose(np.exp(scored.toarray()), found.to_csr().toarray(), atol=1e-5)


@pytest.mark.parametrize("rule", ["raw", "log-sigmoid"])
def test_scores_that_are_logarithms_already(rule, data):
    X, Y = data
    model = XRLinear(**SMALL, score_function=rule).fit(X, Y)
    scored = model.score_pairs(X, everything(Y.shape)).toarray()
    np.testing.assert_allclose(scored, model.predict(X, top_k=30).to_csr().toarray(), atol=1e-4)


def test_copies_with_raw_margins_are_averaged(data):
    X, Y = data
    tree = XRLinear(**SMALL).fit(X, Y).tree_
    twice = np.zeros((30, tree.n_leaves), np.float32)
    twice[:, 0] = 1
    for leaf in range(tree.n_leaves):
        twice[tree.labels_of_leaf(leaf), leaf] = 1
    double = tree.with_leaves(sp.csr_array(twice))
    model = XRLinear(**SMALL, score_function="raw", tree=double).fit(X, Y)
    scored = model.score_pairs(X, everything(Y.shape)).toarray()
    np.testing.assert_allclose(scored, model.predict(X, top_k=30).to_csr().toarray(), atol=1e-4)


def test_only_the_pairs_asked_for_are_scored(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    pairs = sp.random_array(Y.shape, density=0.1, rng=1, format="csr")
    scored = model.score_pairs(X, pairs)
    all_scores = model.score_pairs(X, everything(Y.shape)).toarray()
    np.testing.assert_array_equal(scored.indices, pairs.indices)
    np.testing.assert_array_equal(scored.indptr, pairs.indptr)
    np.testing.assert_array_equal(scored.toarray(), np.where(pairs.toarray() != 0, all_scores, 0))


def test_stored_zeros_and_duplicates_are_one_pair(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    indptr = np.concatenate([[0], np.full(120, 3)])
    pairs = sp.csr_array((np.array([0.0, 1.0, 5.0]), np.array([7, 2, 2]), indptr), shape=Y.shape)
    scored = model.score_pairs(X, pairs)
    assert scored.indices.tolist() == [2, 7]
    assert pairs.indices.tolist() == [7, 2, 2]


def test_unlikely_pairs_still_differ(data):
    """exp of their scores is 0 in float32, and ranks nothing."""
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    far = sp.csr_array(X * 30)
    scored = model.score_pairs(far, everything(Y.shape)).data
    hopeless = scored[scored < -200]
    assert len(hopeless) > 100
    assert len(np.unique(hopeless)) > 0.9 * len(hopeless)


def test_no_pairs_and_no_instances(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    assert model.score_pairs(X, sp.csr_array(Y.shape, dtype=np.float32)).nnz == 0
    assert model.score_pairs(X[:0], sp.csr_array((0, 30), dtype=np.float32)).shape == (0, 30)


def test_threads_change_nothing(data):
    X, Y = data
    one, two = (
        Parabel(n_trees=2, max_leaf_size=4, n_jobs=n).fit(X, Y).score_pairs(X, Y) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.data, two.data)


def test_bad_input_is_refused(data):
    X, Y = data
    with pytest.raises(NotFittedError, match="XRLinear has not learned anything"):
        XRLinear().score_pairs(X, Y)
    model = XRLinear(**SMALL).fit(X, Y)
    with pytest.raises(DataError, match=r"pairs must be a sparse matrix .* = \(120, 30\)"):
        model.score_pairs(X, Y[:, :29])
    with pytest.raises(DataError, match="got ndarray"):
        model.score_pairs(X, Y.toarray())
    with pytest.raises(DataError, match="X has 24 features"):
        model.score_pairs(X[:, :24], Y)
