"""Metrics by name: all of `evaluate`'s, with its values and its tests."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes import ConfigError, metrics
from multitudes.metrics import Resampling
from multitudes.tuning.metric import Examiner, Metric
from multitudes.types import Predictions
from tests.tuning.toy import N_LABELS, toy_data

TRAIN, TRUTH = toy_data(400), toy_data(60, seed=1)
FEW = Resampling(n_resamples=100)


def guessed(share: float, *, seed: int = 0) -> Predictions:
    """Predictions that are right for a share of the instances."""
    rng = np.random.default_rng(seed)
    scores = rng.random(TRUTH.Y.shape)
    right = rng.random(len(TRUTH)) < share
    scores[right] += TRUTH.Y.toarray()[right]
    order = np.argsort(-scores, axis=1)[:, :3]
    return Predictions(order, np.take_along_axis(scores, order, axis=1), N_LABELS)


def reports() -> dict[str, float]:
    at_k = metrics.evaluate(
        guessed(0.5),
        TRUTH.Y,
        ks=(1, 3),
        inverse_propensity=metrics.inverse_propensity(TRAIN.Y),
        frequency_bins=metrics.frequency_bins(TRAIN.Y),
    )
    return {**at_k.values, **metrics.evaluate_sets(guessed(0.5), TRUTH.Y).values}


@pytest.mark.parametrize(("name", "value"), reports().items())
def test_every_metric_of_evaluate_has_its_value(name, value):
    metric = Metric.named(name.upper())
    assert metric.name == name
    assert Examiner(metric, TRUTH, TRAIN).value(guessed(0.5)) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("ndgc@5", "did you mean 'nDCG@5'?"),
        ("nDCG", "did you mean 'nDCG@5'?"),
        ("ndcg@", "did you mean 'nDCG@5'?"),
        ("P@five", "did you mean 'P@5'?"),
        ("mikro-f1", "did you mean 'micro-F1'?"),
        ("macro-f1@-3", "did you mean 'macro-F1@5'?"),
        ("accuracy", "known: P@5, R@5"),
        ("", "known: P@5"),
        ("P@0", "k must be from 1 to 1000"),
        ("P@99999999999", "k must be from 1 to 1000"),
        ("P@٣", "did you mean 'P@5'?"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name, offered):
    with pytest.raises(ConfigError) as caught:
        Metric.named(name)
    assert offered in str(caught.value)


@pytest.mark.parametrize("name", ["nDCG@3", "PSP@3", "micro-F1", "macro-F1@3", "P[tail]@3"])
def test_differences_are_tested(name):
    examiner = Examiner(Metric.named(name), TRUTH, TRAIN)
    better = examiner.difference(guessed(0.9), guessed(0.3, seed=1), FEW)
    assert better.difference == pytest.approx(
        examiner.value(guessed(0.9)) - examiner.value(guessed(0.3, seed=1))
    )
    assert 0 < better.low < better.difference < better.high
    assert better.p_value < 0.05
    worse = examiner.difference(guessed(0.3, seed=1), guessed(0.9), FEW)
    assert (worse.difference, worse.p_value) == (-better.difference, better.p_value)
    alike = examiner.difference(guessed(0.5), guessed(0.5), FEW)
    assert (alike.difference, alike.low, alike.high, alike.p_value) == (0, 0, 0, 1)


def test_chance_is_not_called_a_difference():
    examiner = Examiner(Metric.named("macro-R@3"), TRUTH, TRAIN)
    found = [
        examiner.difference(guessed(0.5, seed=i), guessed(0.5, seed=50 + i), FEW) for i in range(5)
    ]
    assert sum(one.p_value < 0.05 for one in found) <= 1
    assert sum(one.low <= 0 <= one.high for one in found) >= 4
