"""OneVsAll: independent binary problems, all labels scored, and so the ceiling of the trees."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from multitudes.linear import OneVsAll, SolverConfig, XRLinear

from .problems import EXACT, assert_same_predictions, dense_flat, problem
from .shop import precisions, shop

EXACTLY = {"solver": EXACT, "weights": "float32", "score_function": "raw"}


@pytest.fixture(scope="module")
def data():
    """More labels than fit in one block of 16 lanes, and not a multiple of it."""
    return problem(n=120, n_features=30, n_labels=37)


def test_weights_are_those_of_one_binary_problem_per_label(data):
    X, Y = data
    model = OneVsAll(**EXACTLY).fit(X, Y)
    found = dense_flat(model.levels_[0], X.shape[1])
    for label in range(Y.shape[1]):
        alone = LinearSVC(C=1.0, tol=1e-8, max_iter=100_000, random_state=0)
        alone.fit(X.toarray(), Y[:, [label]].toarray().ravel())
        np.testing.assert_allclose(found[label], alone.coef_[0], atol=1e-3)
        np.testing.assert_allclose(model.levels_[0].bias[label], alone.intercept_[0], atol=1e-3)


def test_labels_do_not_see_each_other(data):
    X, Y = data
    kept = np.arange(0, Y.shape[1], 2)
    whole, part = (OneVsAll(**EXACTLY).fit(X, labels) for labels in (Y, Y[:, kept]))
    scores = whole.predict(X, top_k=37).to_csr().toarray()[:, kept]
    np.testing.assert_allclose(part.predict(X, top_k=19).to_csr().toarray(), scores, atol=2e-3)


@pytest.mark.parametrize("weights", ["float32", "float16", "int8"])
def test_predictions_are_the_largest_of_all_margins(data, weights):
    X, Y = data
    model = OneVsAll(weights=weights, score_function="raw").fit(X, Y)
    level = model.levels_[0]
    margins = X.toarray() @ dense_flat(level, X.shape[1]).T + level.bias
    found = model.predict(X, top_k=5)
    expected = np.take_along_axis(margins, found.labels, axis=1)
    np.testing.assert_allclose(found.scores, expected, atol=1e-5)
    np.testing.assert_allclose(found.scores, -np.sort(-margins, axis=1)[:, :5], atol=1e-5)


def test_every_label_is_scored_however_narrow_the_beam(data):
    X, Y = data
    found = OneVsAll().fit(X, Y).predict(X, top_k=37, beam_width=1)
    np.testing.assert_array_equal(np.sort(found.labels, axis=1), [np.arange(37)] * X.shape[0])


def test_more_labels_than_a_byte_can_count():
    X, Y = problem(n=200, n_features=80, n_labels=300)
    model = OneVsAll().fit(X, Y)
    assert model.tree_.depth == 1
    found = model.predict(X, top_k=1).labels[:, 0]
    assert found.max() > 255
    assert Y.toarray()[np.arange(200), found].mean() > 0.95


def test_a_tree_of_one_leaf_is_the_same_model(data):
    X, Y = data
    tree = XRLinear(max_leaf_size=100).fit(X, Y)
    assert_same_predictions(tree.predict(X), OneVsAll().fit(X, Y).predict(X))


def test_ties_go_to_the_smaller_label_id():
    X = sp.csr_array(np.eye(6, dtype=np.float32))
    Y = sp.csr_array(np.tile([0, 1, 1, 0], (6, 4)).astype(np.float32))
    found = OneVsAll().fit(X, Y).predict(X, top_k=16)
    always = np.flatnonzero(Y.toarray()[0])
    never = np.flatnonzero(Y.toarray()[0] == 0)
    np.testing.assert_array_equal(found.labels, [[*always, *never]] * 6)
    assert len(np.unique(found.scores[0])) == 2


def test_no_tree_does_better():
    data = shop()
    flat = precisions(OneVsAll().fit(data.X, data.Y), data.X_test, data.Y_test)
    tree = XRLinear(branching=4, max_leaf_size=20).fit(data.X, data.Y)
    assert flat[0] > 50
    for ceiling, reached in zip(flat, precisions(tree, data.X_test, data.Y_test), strict=True):
        assert ceiling >= reached


def test_settings_reach_the_solver(data):
    few = OneVsAll(solver=SolverConfig(max_nonzeros=3, threshold=0)).fit(*data)
    counts = np.bincount(few.levels_[0].entry_child, minlength=37)
    assert counts.max() == 3
