"""Probabilities and label sets on real descriptions: reliable, and better than a fixed size."""

from __future__ import annotations

import pytest

from multitudes.data import ReadOptions, read_dataset, split
from multitudes.features import TfidfFeatures
from multitudes.linear import XRLinear
from multitudes.metrics import set_scores
from multitudes.scores import ExpectedF1, GlobalThreshold, LabelThresholds, reliability
from multitudes.scores.calibrated import CALIBRATIONS

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def scored(shared_data):
    """(predictions, truth) of the validation and the test part of debian-debtags."""
    source = shared_data("debian-debtags")
    whole = read_dataset(source, options=ReadOptions(split="trn"))
    test = read_dataset(source, labels=whole, options=ReadOptions(split="tst"))
    train, validation = split(whole, test_size=0.1)
    features = TfidfFeatures()
    model = XRLinear(n_jobs=2).fit(features.fit_transform(train.texts), train.Y)
    return [
        (model.predict(features.transform(part.texts), top_k=50), part.Y)
        for part in (validation, test)
    ]


@pytest.mark.parametrize("method", CALIBRATIONS)
def test_calibration_cuts_the_reliability_error_to_a_third(scored, method):
    validation, (predictions, truth) = scored
    calibration = CALIBRATIONS[method]().fit(*validation)
    before = reliability(predictions.top(5), truth).error
    after = reliability(calibration.apply(predictions).top(5), truth).error
    assert after < before / 3


@pytest.mark.parametrize("metric", ["micro", "example"])
@pytest.mark.parametrize("make", [GlobalThreshold, LabelThresholds, ExpectedF1])
def test_sets_beat_every_fixed_size_by_five_points(scored, make, metric):
    validation, (predictions, truth) = scored
    calibration = CALIBRATIONS["isotonic"]().fit(*validation)
    rule = make(metric=metric).fit(calibration.apply(validation[0]), validation[1])
    value = set_scores(rule.apply(calibration.apply(predictions)), truth, average=metric).f1
    fixed = [set_scores(predictions.top(k), truth, average=metric).f1 for k in range(1, 11)]
    assert value > max(fixed) + 0.05
