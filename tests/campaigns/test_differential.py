"""The differential campaign in short, and that it notices an answer that is wrong."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from campaigns.differential import reference, trees
from campaigns.differential.problems import by_label, drawn_problem, hold
from campaigns.framework import SilentChange
from multitudes import XRLinear
from multitudes.errors import ConfigError

TARGETS = {**trees.TARGETS, **reference.TARGETS}
MODELS = {"xr-linear", "parabel", "one-vs-all", "disentangled", "eagle"}
CASES = 6


@pytest.mark.parametrize("name", TARGETS)
def test_answers_are_those_of_brute_force_and_scikit_learn(name):
    answered = 0
    for seed in range(CASES):
        try:
            TARGETS[name](np.random.default_rng(seed))
            answered += 1
        except ConfigError:  # a tree that is too small for the overlap that was drawn
            assert name == "disentangled"
    assert answered >= CASES // 2


def test_every_tree_model_is_compared():
    from multitudes.models import built_in_models

    linear = {name for name, spec in built_in_models().items() if spec.on_cluster}
    assert linear <= MODELS | {"auto"}
    assert set(TARGETS) >= MODELS


def test_problems_are_awkward_and_the_same_for_a_seed():
    problems = [drawn_problem(np.random.default_rng(seed)) for seed in range(60)]
    again = drawn_problem(np.random.default_rng(7))
    assert (problems[7].X != again.X).nnz == 0
    assert any((np.diff(one.X.indptr) == 0).any() for one in problems)
    assert any((np.diff(one.Y.indptr) == 1).all() for one in problems)
    assert any((one.Y.sum(axis=0) == 0).any() for one in problems)
    assert any((one.X.data < 0).any() for one in problems)
    assert any(one.X.shape[0] < 5 for one in problems)


def test_a_changed_weight_is_noticed():
    problem = drawn_problem(np.random.default_rng(2))
    model = XRLinear(weights="float32").fit(problem.X, problem.Y)
    expected = trees.expected_of(model, problem.asked, model.score_function)
    model.levels_[-1].bias[0] += 0.1
    changed = trees.expected_of(model, problem.asked, model.score_function)
    with pytest.raises(SilentChange, match="instead of"):
        hold(changed, expected, "scores", rtol=trees.RTOL, atol=trees.ATOL)


@pytest.mark.parametrize(
    ("labels", "scores"),
    [([[0, 0]], [[2, 1]]), ([[0, -1]], [[2, 1]]), ([[0, 1]], [[1, 2]]), ([[0]], [[1]])],
)
def test_lists_that_are_no_rankings_are_noticed(labels, scores):
    found = SimpleNamespace(labels=np.array(labels), scores=np.array(scores, np.float32))
    with pytest.raises(SilentChange):
        by_label(found, 2)
