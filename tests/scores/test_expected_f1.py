"""Sets of the best expected F1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from multitudes.errors import ConfigError, DataError
from multitudes.metrics import set_scores
from multitudes.scores import ExpectedF1, GlobalThreshold
from multitudes.scores.expected_f1 import mean_inverse, tilted
from multitudes.types import Predictions
from tests.kernels.twins import sets as reference

from .problems import drawn, partly_labeled


def fitted(unlisted=0.0, tilt=0.0, empty=0.0):
    rule = ExpectedF1(empty=empty)
    rule.unlisted_, rule.tilt_, rule.least_ = unlisted, tilt, 0.0
    return rule


@given(
    st.lists(st.floats(0, 1, width=32), min_size=1, max_size=6),
    st.sampled_from([0.0, 0.3, 2.0]),
    st.sampled_from([0.0, 1.0]),
)
def test_sets_are_the_best_over_all_outcomes(p, unlisted, empty):
    p = sorted(p, reverse=True)
    predictions = Predictions.from_lists([list(range(len(p)))], [p], len(p))
    chances = poisson.pmf(np.arange(40), unlisted).tolist()
    rule = fitted(unlisted, empty=empty)
    size = int((rule.apply(predictions).labels >= 0).sum())
    best = reference.best_size(p, chances, empty)[1]
    assert rule.expected(predictions)[0] == pytest.approx(best, abs=1e-9)
    assert reference.expected_f1(p, size, chances, empty) == pytest.approx(best, abs=1e-9)


def test_expected_f1_is_what_comes_out():
    predictions, truth, _ = drawn(0, n=20_000)
    rule = fitted()
    found = set_scores(rule.apply(predictions), truth, average="example").f1
    assert rule.expected(predictions).mean() == pytest.approx(found, abs=0.01)


def test_for_example_f1_it_beats_the_best_threshold():
    predictions, truth, _ = drawn(1, n=5000)
    fresh, fresh_truth, _ = drawn(2, n=5000)
    values = [
        set_scores(rule.fit(predictions, truth).apply(fresh), fresh_truth, average="example").f1
        for rule in (ExpectedF1(), GlobalThreshold(metric="example"))
    ]
    assert values[0] > values[1] + 0.004


def test_true_probabilities_need_hardly_any_tilt():
    predictions, truth, _ = drawn(3, n=20_000)
    assert abs(ExpectedF1().fit(predictions, truth).tilt_) <= 0.25


def test_probabilities_that_are_too_low_are_tilted_up():
    predictions, truth, _ = drawn(3, n=5000, distort=lambda p: tilted(p, -1.5))
    assert ExpectedF1().fit(predictions, truth).tilt_ == pytest.approx(1.5, abs=0.5)


def test_unlisted_labels_are_counted():
    predictions, truth, _ = drawn(4, n=200)
    rule = ExpectedF1().fit(predictions.top(2), truth)
    listed = sum(truth[i, j] for i in range(200) for j in predictions.labels[i, :2].tolist())
    assert rule.unlisted_ == pytest.approx((truth.nnz - listed) / 200)


def test_a_given_tilt_is_kept():
    predictions, truth, _ = drawn(5, n=50)
    assert ExpectedF1(tilt=-0.3).fit(predictions, truth).tilt_ == -0.3


@pytest.mark.parametrize("metric", ["micro", "example"])
def test_instances_that_deserve_no_label_get_none(metric):
    rule = ExpectedF1(metric=metric).fit(*partly_labeled(0))
    predictions, truth = partly_labeled(1)
    sets = rule.apply(predictions)
    by_threshold = GlobalThreshold(metric=metric).fit(*partly_labeled(0)).apply(predictions)
    hopeless = predictions.scores[:, 0] < 0.5
    assert 0.2 < hopeless.mean() < 0.3
    assert (sets.labels[hopeless] == -1).all()
    assert (sets.labels[~hopeless, 0] >= 0).all()
    f1, best = (set_scores(one, truth, average=metric).f1 for one in (sets, by_threshold))
    assert f1 == pytest.approx(best, abs=0.005)


def test_a_hopeless_text_gets_no_label_where_the_data_had_none():
    predictions, truth, _ = drawn(6, n=500)
    hopeless = Predictions.from_lists([list(range(8))], [[0.002] * 8], 30)
    for metric in ("micro", "example"):
        assert (ExpectedF1(metric=metric).fit(predictions, truth).apply(hopeless).labels < 0).all()
    assert (ExpectedF1(least=0.0).fit(predictions, truth).apply(hopeless).labels >= 0).all()


def test_what_a_set_must_promise_is_the_best_for_micro_f1():
    predictions, truth, _ = drawn(7, n=300)
    found = ExpectedF1(metric="micro", tilt=0.0).fit(predictions, truth)
    best = set_scores(found.apply(predictions), truth).f1
    for least in [0.0, *found.expected(predictions).tolist()]:
        other = ExpectedF1(metric="micro", tilt=0.0, least=least).fit(predictions, truth)
        assert set_scores(other.apply(predictions), truth).f1 <= best + 1e-9


@given(st.lists(st.floats(0, 1), min_size=1), st.floats(-5, 5))
def test_tilting_adds_to_the_log_odds(p, tilt):
    found = tilted(np.array(p), tilt)
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_allclose(found * (1 - np.array(p)), np.exp(tilt) * np.array(p) * (1 - found),
                               atol=1e-9)  # fmt: skip


def test_mean_inverse_without_unlisted_labels_is_one_over_a():
    np.testing.assert_allclose(mean_inverse(5, 0.0), [0, 1, 1 / 2, 1 / 3, 1 / 4])


def test_scores_that_are_no_probabilities_are_refused():
    truth = drawn(0, n=1, width=1, n_labels=2)[1]
    for scores, message in (
        ([3.0, 0.5], "got a score of 3: calibrate"),
        ([0.5, -0.1], "got a score of -0.1: calibrate"),
        ([0.2, 0.5], "instance 0: scores must fall"),
    ):
        with pytest.raises(DataError, match=message):
            ExpectedF1().fit(Predictions.from_lists([[0, 1]], [scores], 2), truth)


@pytest.mark.parametrize("value", [-0.1, float("nan"), "x", True])
def test_empty_and_least_must_be_an_f1(value):
    with pytest.raises(ConfigError, match="empty must lie in"):
        ExpectedF1(empty=value)
    with pytest.raises(ConfigError, match="least must be a number >= 0"):
        ExpectedF1(least=value)


@pytest.mark.parametrize("tilt", ["x", float("nan"), float("inf")])
def test_a_tilt_must_be_a_number(tilt):
    with pytest.raises(ConfigError, match="tilt must be a number"):
        ExpectedF1(tilt=tilt)
