"""Expected calibration error with bins of equal mass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitudes.errors import ConfigError
from multitudes.scores import reliability
from multitudes.scores.reliability import binned
from multitudes.types import Predictions

from .problems import drawn


def test_worked_out_by_hand():
    p = np.array([0.1, 0.2, 0.6, 0.9])
    found = binned(p, np.array([False, True, True, True]), 2)
    assert found.counts.tolist() == [2, 2]
    np.testing.assert_allclose(found.predicted, [0.15, 0.75])
    np.testing.assert_allclose(found.observed, [0.5, 1.0])
    assert found.error == pytest.approx((2 * 0.35 + 2 * 0.25) / 4)


def test_true_probabilities_have_a_small_error_and_wrong_ones_a_large():
    predictions, truth, _ = drawn(0, n=5000)
    assert reliability(predictions, truth).error < 0.02
    louder, truth, p = drawn(0, n=5000, distort=np.sqrt)
    expected = np.abs(np.sqrt(p) - p).mean()
    assert reliability(louder, truth).error == pytest.approx(expected, abs=0.02)


def test_scores_of_another_scale_are_brought_to_0_and_1():
    predictions, truth, _ = drawn(1, distort=lambda p: 10 * p - 5)
    inside = Predictions(predictions.labels, predictions.scores.clip(0, 1), predictions.n_labels)
    assert reliability(predictions, truth).error == reliability(inside, truth).error


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.50001, 1.0]), st.booleans()), min_size=1),
    st.integers(1, 20),
    st.randoms(use_true_random=False),
)
def test_bins_do_not_depend_on_the_order_of_pairs(pairs, n_bins, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    one, other = (
        binned(np.array([p for p, _ in some]), np.array([y for _, y in some]), n_bins)
        for some in (pairs, shuffled)
    )
    assert one.counts.tolist() == other.counts.tolist()
    np.testing.assert_allclose(one.observed, other.observed)
    assert one.counts.sum() == len(pairs)
    assert len(one.counts) <= n_bins
    assert (np.diff(one.predicted) > 0).all()
    assert 0 <= one.error <= 1


def test_bins_hold_equally_many_where_no_scores_tie():
    found = binned(np.random.default_rng(0).random(103), np.zeros(103, bool), 10)
    assert set(found.counts.tolist()) == {10, 11}


@pytest.mark.parametrize("n_bins", [0, -1, 1.5, True])
def test_bins_must_be_a_count(n_bins):
    predictions, truth, _ = drawn(0, n=3)
    with pytest.raises(ConfigError, match="n_bins must be a whole number >= 1"):
        reliability(predictions, truth, n_bins=n_bins)
