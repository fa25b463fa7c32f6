"""One threshold for all labels."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes.metrics import set_scores
from multitudes.scores.sets import GlobalThreshold
from multitudes.types import Predictions

from ..problems import drawn


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
