"""Calibration and set rule in one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from multitudes.errors import ConfigError, DataError, NotFittedError, StoreError
from multitudes.scores import reliability
from multitudes.scores.calibrated import CALIBRATIONS, RULES, Calibrated, CalibrationConfig
from multitudes.store import State

from .problems import drawn, small_problems

ALL = [(method, sets) for method in CALIBRATIONS for sets in RULES]


@pytest.mark.parametrize(("method", "sets"), ALL)
def test_its_state_builds_it_again(method, sets):
    predictions, truth, _ = drawn(0, distort=np.sqrt)
    found = Calibrated(config=CalibrationConfig(method, sets)).fit(predictions, truth)
    again = Calibrated.from_state(found.to_state())
    assert again.config == found.config
    assert again.report_ == found.report_
    one, other = (some.sets(predictions) for some in (found, again))
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.scores, other.scores)


@pytest.mark.parametrize(("method", "sets"), ALL)
@settings(max_examples=25)
@given(problem=small_problems())
def test_sets_are_some_of_the_labels_with_their_probabilities(method, sets, problem):
    predictions, truth = problem
    found = Calibrated(config=CalibrationConfig(method, sets)).fit(predictions, truth)
    probabilities = found.probabilities(predictions)
    chosen = found.sets(predictions)
    for i in range(len(predictions)):
        known = dict(zip(predictions.labels[i].tolist(), probabilities.scores[i].tolist(),
                         strict=True))  # fmt: skip
        pairs = zip(chosen.labels[i].tolist(), chosen.scores[i].tolist(), strict=True)
        assert all(known[label] == score for label, score in pairs if label >= 0)


def test_the_reported_error_is_that_of_unseen_instances():
    predictions, truth, _ = drawn(1, n=3000, distort=np.sqrt)
    fresh, fresh_truth, _ = drawn(2, n=3000, distort=np.sqrt)
    found = Calibrated().fit(predictions, truth)
    report = found.report_
    assert report.error_before == reliability(predictions.top(5), truth).error
    again = reliability(found.probabilities(fresh).top(5), fresh_truth).error
    assert report.error_after == pytest.approx(again, abs=0.01)
    assert report.error_after < report.error_before / 5
    assert (report.n_instances, report.n_pairs) == (3000, 24_000)
    assert "3,000 instances, 24,000 predicted labels" in str(report)


@pytest.mark.parametrize(
    "form",
    [sp.coo_array, sp.csc_array, lambda Y: Y.toarray(), lambda Y: Y.astype(int).toarray().tolist()],
)
def test_the_truth_may_have_any_form(form):
    predictions, truth, _ = drawn(3, n=100)
    found = Calibrated().fit(predictions, form(truth))
    assert found.report_ == Calibrated().fit(predictions, truth).report_


@pytest.mark.parametrize("truth", [[[0, 1], [1]], ["ab", "c"], [0, 1], np.zeros(2)])
def test_a_truth_that_is_not_a_matrix_is_refused(truth):
    with pytest.raises(DataError, match="the truth must"):
        Calibrated().fit(drawn(3, n=2)[0], truth)


def test_misuse_is_told():
    predictions, truth, _ = drawn(4, n=20)
    for method in (Calibrated().sets, Calibrated().probabilities):
        with pytest.raises(NotFittedError, match="call fit first"):
            method(predictions)
    with pytest.raises(ConfigError, match="sets must be one of"):
        CalibrationConfig(sets="top-k")
    state = Calibrated().fit(predictions, truth).to_state()
    foreign = dataclasses.replace(state, parts={**state.parts, "rule": State("xr-linear")})
    with pytest.raises(StoreError, match="'xr-linear' is not a calibration or set rule"):
        Calibrated.from_state(foreign)
