"""One threshold for all labels, and one for each."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from multitudes.errors import ConfigError, DataError
from multitudes.metrics import set_scores
from multitudes.scores import GlobalThreshold, LabelThresholds
from multitudes.types import Predictions

from .problems import drawn, small_problems


def two_scales(n=2000, random_state=0):
    """Labels 0 and 1 have probabilities p, but label 1's scores are p / 3."""
    rng = np.random.default_rng(random_state)
    p = rng.random((n, 2))
    scores = p / np.array([1, 3])
    truth = sp.csr_array((rng.random((n, 2)) < p).astype(np.float32))
    return Predictions.from_csr(sp.csr_array(scores.astype(np.float32)), 2), truth


@pytest.mark.parametrize(("metric", "gain"), [("micro", 0.02), ("example", 0.004)])
def test_labels_whose_scores_differ_in_scale_are_put_right(metric, gain):
    predictions, truth = two_scales()
    fresh, fresh_truth = two_scales(random_state=1)
    own = LabelThresholds(metric=metric).fit(predictions, truth)
    common = GlobalThreshold(metric=metric).fit(predictions, truth)
    values = [set_scores(rule.apply(fresh), fresh_truth, average=metric).f1
              for rule in (own, common)]  # fmt: skip
    assert values[0] > values[1] + gain
    assert own.thresholds_[0] > 2 * own.thresholds_[1]


@pytest.mark.parametrize("min_size", [0, 1])
@pytest.mark.parametrize("metric", ["micro", "example"])
@given(problem=small_problems(scores=(0.0, 0.1, 0.25, 0.7, 1.0)))
def test_without_shrinkage_it_is_never_worse_where_it_learned(metric, min_size, problem):
    predictions, truth = problem
    own = LabelThresholds(metric=metric, strength=0.0, min_size=min_size).fit(predictions, truth)
    common = GlobalThreshold(metric=metric, min_size=min_size).fit(predictions, truth)
    one, other = (
        set_scores(rule.apply(predictions), truth, average=metric).f1 for rule in (own, common)
    )
    assert one >= other - 1e-9


@given(problem=small_problems(scores=(0.0, 0.1, 0.25, 0.7, 1.0)))
def test_infinite_shrinkage_is_the_common_threshold(problem):
    predictions, truth = problem
    own = LabelThresholds(strength=np.inf).fit(predictions, truth)
    common = GlobalThreshold().fit(predictions, truth)
    np.testing.assert_array_equal(own.apply(predictions).labels, common.apply(predictions).labels)
    again = LabelThresholds.from_state(own.to_state())
    assert again.strength_ == np.inf


def test_more_shrinkage_comes_nearer_to_the_common_threshold():
    predictions, truth = two_scales()
    distances = []
    for strength in (0.0, 100.0, 10_000.0):
        rule = LabelThresholds(strength=strength).fit(predictions, truth)
        distances.append(np.abs(rule.thresholds_ - rule.common_))
    assert (distances[0] > distances[1]).all()
    assert (distances[1] > distances[2]).all()


def test_rare_labels_keep_near_to_the_common_threshold():
    predictions, truth, _ = drawn(0, n=3000, n_labels=3000)
    rule = LabelThresholds(strength=30.0).fit(predictions, truth)
    plain = LabelThresholds(strength=0.0).fit(predictions, truth)
    assert np.abs(rule.thresholds_ - rule.common_).max() < 0.25
    assert np.abs(plain.thresholds_ - rule.common_).max() > 0.5


def test_where_labels_are_alike_cross_validation_asks_for_much_shrinkage():
    predictions, truth, _ = drawn(1, n=1000, n_labels=500)
    assert LabelThresholds().fit(predictions, truth).strength_ >= 30


def test_a_label_that_was_never_listed_has_the_common_threshold():
    predictions, truth = two_scales(200)
    wider = Predictions(predictions.labels, predictions.scores, 3)
    truth = sp.hstack([truth, sp.csr_array((200, 1), dtype=np.float32)]).tocsr()
    rule = LabelThresholds(strength=1.0).fit(wider, truth)
    assert rule.thresholds_[2] == rule.common_


def test_misuse_is_told():
    with pytest.raises(ConfigError, match="strength must be >= 0.*-1"):
        LabelThresholds(strength=-1)
    predictions, truth = two_scales(50)
    rule = LabelThresholds().fit(predictions, truth)
    with pytest.raises(DataError, match="thresholds of 2 labels, the predictions are over 30"):
        rule.apply(drawn(0, n=3)[0])


def test_for_true_probabilities_it_is_half_the_micro_f1():
    predictions, truth, _ = drawn(0, n=20_000)
    rule = GlobalThreshold().fit(predictions, truth)
    f1 = set_scores(rule.apply(predictions), truth).f1
    assert rule.threshold_ == pytest.approx(f1 / 2, abs=0.03)


def test_a_threshold_between_neighboring_scores_parts_them():
    low = np.float32(0.5)
    high = np.nextafter(low, np.float32(1))
    predictions = Predictions.from_lists([[0, 1]], [[float(high), float(low)]], 2)
    truth = drawn(0, n=1, width=1, n_labels=2)[1].tolil()
    truth[0, 0], truth[0, 1] = 1, 0
    rule = GlobalThreshold().fit(predictions, truth.tocsr())
    assert rule.apply(predictions).labels.tolist() == [[0, -1]]
    again = GlobalThreshold.from_state(rule.to_state())
    assert again.apply(predictions).labels.tolist() == [[0, -1]]


@pytest.mark.parametrize("metric", ["micro", "example"])
def test_any_rising_change_of_scores_gives_the_same_sets(metric):
    plain, truth, _ = drawn(5)
    bent, _, _ = drawn(5, distort=lambda p: np.log(p + 0.01))
    sets = [GlobalThreshold(metric=metric).fit(p, truth).apply(p).labels for p in (plain, bent)]
    np.testing.assert_array_equal(*sets)
