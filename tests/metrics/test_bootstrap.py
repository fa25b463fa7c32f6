"""Bootstrap intervals: exact on a sample, right in size, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes.errors import ConfigError
from multitudes.metrics import Resampling, bootstrap, evaluate
from multitudes.metrics.at_k import at_k_terms
from multitudes.metrics.bootstrap import batches, bootstrap_values
from multitudes.metrics.matches import match


def test_a_sample_equals_evaluating_the_instances_drawn(random_case):
    made = random_case(0)
    n = len(made.predictions)
    terms = at_k_terms(match(made.predictions, made.Y, top_k=5), (1, 5), made.weights)
    values = bootstrap_values(terms, Resampling(n_resamples=3, random_state=8))
    rng = np.random.default_rng(8)
    for sample in values:
        rows = rng.integers(0, n, n, np.int32)
        report = evaluate(
            made.predictions[rows], made.Y[rows], ks=(1, 5), inverse_propensity=made.weights
        )
        assert dict(zip(terms, sample, strict=True)) == pytest.approx(
            {name: report[name] for name in terms}
        )


def test_the_width_is_that_of_the_normal_approximation():
    n, p = 2000, 0.3
    truth = [[0] if i < n * p else [1] for i in range(n)]
    report = evaluate([[0]] * n, truth, ks=(1,), resampling=Resampling(n_resamples=2000))
    low, high = report.intervals["P@1"]
    half = 1.96 * np.sqrt(p * (1 - p) / n)
    assert report["P@1"] == pytest.approx(p)
    assert low == pytest.approx(p - half, abs=half / 10)
    assert high == pytest.approx(p + half, abs=half / 10)


def test_the_seed_decides_and_the_batch_does_not(random_case, monkeypatch):
    made = random_case(1)

    def ends(random_state):
        sampling = Resampling(n_resamples=50, random_state=random_state)
        return evaluate(made.predictions, made.Y, resampling=sampling).intervals

    whole = ends(4)
    assert ends(5) != whole
    monkeypatch.setattr(bootstrap, "NUMBERS_IN_MEMORY", 7 * len(made.predictions))
    split = ends(4)
    assert split.keys() == whole.keys()
    for name, pair in whole.items():
        assert split[name] == pytest.approx(pair, abs=1e-12)


def test_more_confidence_is_a_wider_interval(random_case):
    made = random_case(2)
    narrow, wide = (
        evaluate(made.predictions, made.Y, resampling=Resampling(confidence=c)).intervals["P@5"]
        for c in (0.5, 0.99)
    )
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_only_sums_over_instances_have_intervals(case):
    report = evaluate(case.ranked, case.truth, ks=(1,), resampling=Resampling(n_resamples=5))
    assert set(report.intervals) == {"P@1", "R@1", "nDCG@1"}


def test_batches_cover_all_samples():
    assert sum(batches(1_000_000, 1000)) == 1000
    assert max(batches(1_000_000, 1000)) * 1_000_000 <= bootstrap.NUMBERS_IN_MEMORY
    assert batches(10**9, 3) == [1, 1, 1]


def test_settings_are_checked():
    with pytest.raises(ConfigError, match="confidence must be <= 1, got 95"):
        Resampling(confidence=95)
