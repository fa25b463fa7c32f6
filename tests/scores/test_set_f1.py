"""F1 of sets and the best threshold, against the metrics and an obvious search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from multitudes.errors import ConfigError
from multitudes.metrics import set_scores
from multitudes.scores.filtering import keep, reaching
from multitudes.scores.outcomes import outcomes
from multitudes.scores.set_f1 import best_threshold, check_aim, f1_of, folds

from .problems import small_problems

METRICS = ["micro", "example"]


def f1_at(predictions, truth, threshold, metric, min_size):
    kept = keep(predictions, reaching(predictions, np.float64(threshold), min_size=min_size))
    return set_scores(kept, truth, average=metric).f1


@pytest.mark.parametrize("metric", METRICS)
@given(problem=small_problems())
def test_f1_is_that_of_the_metrics(metric, problem):
    predictions, truth = problem
    found = outcomes(predictions, truth)
    taken = found.is_listed & (predictions.scores >= 0.25)
    expected = set_scores(keep(predictions, taken), truth, average=metric).f1
    assert f1_of(taken, found, metric) == pytest.approx(expected)


@pytest.mark.parametrize("min_size", [0, 1, 2, 9])
@pytest.mark.parametrize("metric", METRICS)
@given(problem=small_problems())
def test_no_threshold_is_better(metric, min_size, problem):
    predictions, truth = problem
    found = outcomes(predictions, truth)
    threshold = best_threshold(predictions.scores, found, metric, min_size=min_size)
    assert np.isfinite(threshold)
    value = f1_at(predictions, truth, threshold, metric, min_size)
    for other in np.unique(predictions.scores[predictions.labels >= 0]).tolist():
        assert value >= f1_at(predictions, truth, other, metric, min_size) - 1e-12


def test_folds_check_every_row_once_and_never_learn_from_it():
    for n in (1, 3, 17):
        parts = folds(n)
        assert sorted(np.concatenate([checked for _, checked in parts]).tolist()) == list(range(n))
        for learned, checked in parts:
            assert not set(learned.tolist()) & set(checked.tolist())
            assert len(learned) + len(checked) == n


def test_an_unknown_metric_is_refused():
    with pytest.raises(ConfigError, match="metric must be one of.*'micro', 'example'.*'macro'"):
        check_aim("macro", 0)


@pytest.mark.parametrize("min_size", [-1, 1.0, True])
def test_a_smallest_size_is_a_count(min_size):
    with pytest.raises(ConfigError, match="min_size must be a whole number >= 0"):
        check_aim("micro", min_size)
