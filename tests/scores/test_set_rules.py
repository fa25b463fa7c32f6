"""What holds for every set rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from multitudes.errors import ConfigError, NotFittedError
from multitudes.metrics import set_scores
from multitudes.scores import ExpectedF1, GlobalThreshold, LabelThresholds

from .problems import drawn, small_problems

RULES = [GlobalThreshold, LabelThresholds, ExpectedF1]
METRICS = ["micro", "example"]
CHANCES = (0.0, 0.1, 0.25, 0.7, 1.0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("make", RULES)
@settings(max_examples=30)
@given(problem=small_problems(scores=CHANCES))
def test_sets_hold_listed_labels_in_their_order(make, metric, problem):
    predictions, truth = problem
    sets = make(metric=metric).fit(predictions, truth).apply(predictions)
    for before, after in zip(predictions.labels.tolist(), sets.labels.tolist(), strict=True):
        kept = [label for label in after if label >= 0]
        assert kept == [label for label in before if label in kept]
        assert after == kept + [-1] * (len(after) - len(kept))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("make", RULES)
def test_sets_are_better_than_any_fixed_size(make, metric):
    predictions, truth, _ = drawn(0, n=2000)
    fresh, fresh_truth, _ = drawn(1, n=2000)
    sets = make(metric=metric).fit(predictions, truth).apply(fresh)
    value = set_scores(sets, fresh_truth, average=metric).f1
    fixed = [set_scores(fresh.top(k), fresh_truth, average=metric).f1 for k in range(1, 9)]
    assert value > max(fixed) + 0.02


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("make", RULES)
@settings(max_examples=30)
@given(problem=small_problems(scores=CHANCES))
def test_the_first_labels_can_be_forced(make, metric, problem):
    predictions, truth = problem
    rule = make(metric=metric, min_size=2).fit(predictions, truth)
    sets = make.from_state(rule.to_state()).apply(predictions)
    np.testing.assert_array_equal(sets.labels[:, :2], predictions.labels[:, :2])
    np.testing.assert_array_equal(sets.labels, rule.apply(predictions).labels)


@pytest.mark.parametrize("make", RULES)
def test_a_row_by_itself_has_the_same_set(make):
    predictions, truth, _ = drawn(2, n=300)
    rule = make().fit(predictions, truth)
    whole = rule.apply(predictions)
    for i in range(0, 300, 37):
        np.testing.assert_array_equal(rule.apply(predictions[[i]]).labels, whole.labels[[i]])


@pytest.mark.parametrize("make", RULES)
def test_its_state_builds_it_again(make):
    predictions, truth, _ = drawn(3)
    rule = make(metric="example").fit(predictions, truth)
    state = rule.to_state()
    again = make.from_state(state)
    assert state.kind == make.kind
    assert again.metric == "example"
    np.testing.assert_array_equal(again.apply(predictions).labels, rule.apply(predictions).labels)


@pytest.mark.parametrize("make", RULES)
def test_misuse_is_told(make):
    predictions, _, _ = drawn(4, n=3)
    with pytest.raises(NotFittedError, match="call fit first"):
        make().apply(predictions)
    with pytest.raises(NotFittedError, match="call fit first"):
        make().to_state()
    with pytest.raises(ConfigError, match="metric must be one of"):
        make(metric="weighted")
