"""Parabel: binary trees from different starts, and the mean of what they say."""

import numpy as np
import pytest

from multitudes import store
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.linear import Parabel, SolverConfig, XRLinear

from .problems import assert_same_levels, assert_same_predictions, problem
from .shop import precisions, shop

SMALL = {"max_leaf_size": 5}


@pytest.fixture(scope="module")
def data():
    return problem(n=200, n_features=60, n_labels=80)


@pytest.fixture(scope="module")
def model(data):
    return Parabel(**SMALL).fit(*data)


def test_trees_are_binary_and_differ(model):
    assert len(model.trees_) == 3
    assert [tree.random_state for tree in model.trees_] == [0, 1, 2]
    for tree in model.trees_:
        assert all(np.diff(offsets).max() == 2 for offsets in tree.tree_.offsets[:-1])
        assert np.diff(tree.tree_.offsets[-1]).max() <= 5
    assert model.trees_[0].tree_ != model.trees_[1].tree_


def test_each_tree_is_the_one_trained_alone(data, model):
    for random_state, tree in enumerate(model.trees_):
        alone = XRLinear(branching=2, **SMALL, random_state=random_state).fit(*data)
        assert alone.tree_ == tree.tree_
        assert_same_levels(alone.levels_, tree.levels_)


def test_scores_are_means_over_trees(data, model):
    X = data[0]
    every = {"top_k": 80, "beam_width": 10**6}
    mean = np.mean([tree.predict(X, **every).to_csr().toarray() for tree in model.trees_], axis=0)
    found = model.predict(X, **every)
    np.testing.assert_allclose(found.to_csr().toarray(), mean, rtol=1e-5, atol=1e-8)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    assert_same_predictions(model.predict(X, top_k=7, beam_width=10**6), found.top(7))


def test_one_tree_alone_is_its_own_mean(data):
    X, Y = data
    one = Parabel(n_trees=1, **SMALL).fit(X, Y)
    alone = XRLinear(branching=2, **SMALL).fit(X, Y)
    assert_same_predictions(one.predict(X), alone.predict(X))


def test_several_trees_find_more_than_one():
    data = shop()
    three, one = (Parabel(n_trees=n, max_leaf_size=20).fit(data.X, data.Y) for n in (3, 1))
    for more, less in zip(
        precisions(three, data.X_test, data.Y_test),
        precisions(one, data.X_test, data.Y_test),
        strict=True,
    ):
        assert more > less


def test_only_the_labels_asked_for_and_above_the_threshold(data, model):
    X = data[0]
    found = model.predict(X, top_k=10, labels=[3, 50], beam_width=10**6)
    np.testing.assert_array_equal(np.sort(found.labels[:, :2], axis=1), [[3, 50]] * len(found))
    assert (found.labels[:, 2:] == -1).all()
    whole = model.predict(X)
    high = float(np.median(whole.scores))
    np.testing.assert_array_equal(
        model.predict(X, threshold=high).labels, np.where(whole.scores >= high, whole.labels, -1)
    )


def test_explanations_have_a_path_per_tree_and_average_to_the_score(data, model):
    X = data[0]
    found = model.predict(X[[0]], top_k=1, beam_width=10**6)
    explained = model.explain(X[[0]], int(found.labels[0, 0]))
    scores = [np.prod([s.score for s in explained.steps if s.tree == tree]) for tree in range(3)]
    assert explained.score == pytest.approx(np.mean(scores), rel=1e-6)
    assert "tree 2, level 0" in explained.table()
    assert explained.score == pytest.approx(found.scores[0, 0], rel=1e-5)


def test_settings_come_back_from_disk(data, tmp_path):
    X, Y = data
    solver = SolverConfig(cost=2.0)
    model = Parabel(n_trees=2, max_leaf_size=7, weights="int8", solver=solver, random_state=5).fit(
        X, Y
    )
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model", verify=True)
    for name in ("n_trees", "branching", "max_leaf_size", "weights", "solver", "random_state"):
        assert again.get_params()[name] == model.get_params()[name]
    assert_same_predictions(again.predict(X), model.predict(X))


@pytest.mark.parametrize("score", ["raw", "log-sigmoid"])
def test_scores_that_have_no_zero_are_refused(data, score):
    with pytest.raises(ConfigError, match=f"'{score}' cannot be averaged: use a hinge or sigmoid"):
        Parabel(score_function=score).fit(*data)


@pytest.mark.parametrize("n_trees", [0, -1, 1.5, "three"])
def test_the_number_of_trees_is_checked(data, n_trees):
    with pytest.raises(ConfigError, match="n_trees must be a whole number >= 1, got"):
        Parabel(n_trees=n_trees).fit(*data)


@pytest.mark.parametrize(
    "use",
    [
        lambda model, X, Y: model.predict(X),
        lambda model, X, Y: model.explain(X[[0]], 0),
        lambda model, X, Y: model.add_labels(X, Y),
        lambda model, X, Y: model.remove_labels([0]),
        lambda model, X, Y: model.to_state(),
    ],
)
def test_nothing_works_before_fit(data, use):
    with pytest.raises(NotFittedError, match="this Parabel has not learned anything yet"):
        use(Parabel(), *data)


def test_other_features_than_in_training_are_refused(data, model):
    with pytest.raises(DataError, match="7 features, but Parabel is expecting 60 features"):
        model.predict(data[0][:, :7])
