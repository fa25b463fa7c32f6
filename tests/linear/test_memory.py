"""The estimate of training's memory, and the refusal when it is more than there is."""

import pytest

from multitudes import memory
from multitudes.errors import ResourceError
from multitudes.linear import OneVsAll, Parabel, XRLinear, train_tree
from multitudes.linear.level_labels import children_by_level, pattern_of
from multitudes.linear.train_tree import estimate_bytes

from .problems import problem


def estimate(X, Y, n_jobs=1):
    tree = XRLinear(branching=4, max_leaf_size=5).fit(X, Y).tree_
    return estimate_bytes(X, tree, children_by_level(pattern_of(Y), tree), n_jobs)


def test_it_grows_with_instances_features_and_threads():
    base = estimate(*problem(n=200, n_features=60, n_labels=80))
    assert base > 0
    assert estimate(*problem(n=400, n_features=60, n_labels=80)) > 1.5 * base
    assert estimate(*problem(n=200, n_features=600, n_labels=80)) > 1.5 * base
    assert estimate(*problem(n=200, n_features=60, n_labels=80), n_jobs=8) > 2 * base


def test_it_covers_the_model_that_comes_of_it():
    X, Y = problem(n=400, n_features=60, n_labels=80)
    model = XRLinear(branching=4, max_leaf_size=5, weights="float32").fit(X, Y)
    assert estimate(X, Y) > sum(level.nbytes for level in model.levels_)


@pytest.mark.parametrize("make", [XRLinear, Parabel, OneVsAll])
def test_a_refusal_has_numbers_and_advice(monkeypatch, make):
    X, Y = problem()
    monkeypatch.setattr(train_tree, "estimate_bytes", lambda *_: 7_250_000_000)
    monkeypatch.setattr(memory, "limit", lambda: 2_500_000_000)
    with pytest.raises(ResourceError) as refusal:
        make(n_jobs=2).fit(X, Y)
    message = str(refusal.value)
    assert message.startswith("training, beyond the data, needs 7.2 GB of memory, and 2.5 GB may")
    for advice in ("fewer threads (now 2)", "max_features", "min_df", "threshold", "max_nonzeros"):
        assert advice in message


def test_a_refused_model_is_not_fitted(monkeypatch):
    X, Y = problem()
    model = XRLinear()
    monkeypatch.setattr(train_tree, "estimate_bytes", lambda *_: 1 << 60)
    with pytest.raises(ResourceError):
        model.fit(X, Y)
    assert not hasattr(model, "tree_")


def test_just_enough_is_enough(monkeypatch):
    X, Y = problem()
    monkeypatch.setattr(memory, "limit", lambda: 5_000_000)
    monkeypatch.setattr(train_tree, "estimate_bytes", lambda *_: 5_000_000)
    assert XRLinear().fit(X, Y).n_labels_ == Y.shape[1]
