"""Isotonic and temperature calibration: what holds for both."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from multitudes.errors import DataError, NotFittedError
from multitudes.scores import (
    IsotonicCalibration,
    TemperatureCalibration,
    reliability,
)
from multitudes.types import Predictions

from .problems import drawn, small_problems

BOTH = [IsotonicCalibration, TemperatureCalibration]


@pytest.mark.parametrize("make", BOTH)
@settings(max_examples=50)
@given(problem=small_problems(), others=st.lists(st.floats(-9, 9, width=32), min_size=2))
def test_probabilities_lie_in_0_to_1_and_rise_with_the_score(make, problem, others):
    calibration = make().fit(*problem)
    falling = np.array([sorted(others, reverse=True)], np.float32)
    anything = Predictions(np.zeros(falling.shape, np.int32), falling, 1)
    p = calibration.apply(anything).scores
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p) <= 0).all()
    # One score, one probability, whatever stands beside it.
    singles = Predictions(np.zeros(falling.T.shape, np.int32), falling.T, 1)
    np.testing.assert_allclose(calibration.apply(singles).scores[:, 0], p[0], atol=1e-6)


@pytest.mark.parametrize("make", BOTH)
@settings(max_examples=50)
@given(problem=small_problems())
def test_labels_and_missing_places_stay(make, problem):
    predictions, truth = problem
    found = make().fit(predictions, truth).apply(predictions)
    np.testing.assert_array_equal(found.labels, predictions.labels)
    np.testing.assert_array_equal(found.scores == -np.inf, predictions.labels == -1)


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize(
    "distort",
    [lambda p: p, np.sqrt, lambda p: logit(p.clip(1e-6, 1 - 1e-6)) * 3 + 5],
    ids=["as they are", "square root", "steep margins"],
)
def test_known_probabilities_come_back(make, distort):
    predictions, truth, _ = drawn(0, n=4000, distort=distort)
    fresh, fresh_truth, p = drawn(1, n=4000, distort=distort)
    found = make().fit(predictions, truth).apply(fresh)
    assert np.abs(found.scores - p).mean() < 0.03
    assert reliability(found, fresh_truth).error < 0.025


def test_isotonic_is_sklearns_regression():
    from sklearn.isotonic import IsotonicRegression

    predictions, truth, _ = drawn(2, n=200)
    hits = np.array([[truth[i, j] for j in row] for i, row in enumerate(predictions.labels)])
    peer = IsotonicRegression(out_of_bounds="clip").fit(predictions.scores.ravel(), hits.ravel())
    found = IsotonicCalibration().fit(predictions, truth).apply(predictions)
    expected = peer.predict(predictions.scores.ravel())
    np.testing.assert_allclose(found.scores.ravel(), expected, atol=2 / hits.size)


def test_temperature_finds_the_curve_that_made_the_scores():
    predictions, truth, _ = drawn(3, n=20_000, distort=lambda p: 2 * logit(p) + 1)
    found = TemperatureCalibration().fit(predictions, truth)
    assert found.link_ == "identity"
    assert found.temperature_ == pytest.approx(2, rel=0.05)
    assert found.offset_ == pytest.approx(-0.5, abs=0.05)


def test_temperature_takes_the_logit_of_scores_that_are_probabilities():
    predictions, truth, _ = drawn(4, n=4000)
    found = TemperatureCalibration().fit(predictions, truth)
    assert found.link_ == "logit"
    assert found.temperature_ == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("make", BOTH)
def test_scores_that_mislead_give_one_probability(make):
    lists = [[0, 1]] * 50  # the better score is always wrong, the worse one always right
    truth = drawn(0, n=50, width=2, n_labels=2)[1] * 0
    truth = truth.tolil()
    truth[:, 1] = 1
    predictions = Predictions.from_lists(lists, [[0.9, 0.1]] * 50, 2)
    found = make().fit(predictions, truth.tocsr()).apply(predictions)
    np.testing.assert_allclose(found.scores, 0.5, atol=0.01)


@pytest.mark.parametrize("make", BOTH)
def test_nothing_is_certain_after_few_pairs(make):
    predictions = Predictions.from_lists([[0, 1]], [[0.9, 0.1]], 2)
    truth = drawn(0, n=1, width=1, n_labels=2)[1] * 0
    truth = truth.tolil()
    truth[0, 0] = 1
    p = make().fit(predictions, truth.tocsr()).apply(predictions).scores
    assert 0 < p[0, 1] < 0.5 < p[0, 0] < 1


@pytest.mark.parametrize("make", BOTH)
def test_its_state_builds_it_again(make):
    predictions, truth, _ = drawn(5)
    calibration = make().fit(predictions, truth)
    again = make.from_state(calibration.to_state())
    np.testing.assert_array_equal(
        again.apply(predictions).scores, calibration.apply(predictions).scores
    )


@pytest.mark.parametrize("make", BOTH)
def test_misuse_is_told(make):
    predictions, truth, _ = drawn(6)
    with pytest.raises(NotFittedError, match="call fit first"):
        make().apply(predictions)
    bad = Predictions.from_lists([[0]], [[np.nan]], 30)
    with pytest.raises(DataError, match="not a finite number"):
        make().fit(predictions, truth).apply(bad)


def test_probabilities_are_of_numbers_alone():
    found = Predictions.from_lists([[0, 1], [1, 0]], [[0.9, 0.1], [0.8, 0.3]], n_labels=2)
    calibration = TemperatureCalibration().fit(found, sp.csr_array([[1, 0], [0, 1]]))
    assert calibration.probabilities([[0.2, 0.9]]).shape == (1, 2)
    for wrong in (sp.dia_array((2, 2)), [[1], [1, 2]], ["a"], None):
        with pytest.raises(DataError, match="scores must be an array of numbers"):
            calibration.probabilities(wrong)
    with pytest.raises(NotFittedError):
        TemperatureCalibration().probabilities([0.5])
