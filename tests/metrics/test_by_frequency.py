"""P@k and R@k split by label frequency."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes.errors import ConfigError, DataError
from multitudes.metrics import (
    FrequencyBins,
    evaluate,
    frequency_bins,
    precision_at_k,
    precision_by_frequency,
)

TRAINING = [[0, 1], [0, 1], [0, 1], [0, 2], [0, 2], [0, 3], []]  # counts 6 3 2 1


def test_bins_of_equal_volume_by_hand():
    bins = frequency_bins(TRAINING)  # each label's middle pair stands at 3, 7.5, 10, 11.5 of 12
    assert bins.names == ("head", "middle", "tail")
    assert bins.bin_of_label.tolist() == [0, 1, 2, 2]


def test_bins_by_count_and_labels_never_seen():
    bins = frequency_bins([[0, 1], [0, 3], [0]], min_counts=(3, 1))
    assert bins.bin_of_label.tolist() == [0, 1, 2, 1]
    assert frequency_bins([[0, 1], [0, 3], [0]]).bin_of_label[2] == 2
    assert frequency_bins(TRAINING, n_bins=5).names[4] == "bin 5"
    assert frequency_bins(TRAINING, n_bins=1).bin_of_label.tolist() == [0, 0, 0, 0]


def test_by_hand(case):
    bins = FrequencyBins(("head", "middle", "tail"), np.array([0, 1, 1, 2, 2]))
    assert precision_by_frequency(case.ranked, case.truth, bins, k=3) == pytest.approx(
        {"head": 1 / 12, "middle": 2 / 12, "tail": 2 / 12}
    )
    report = evaluate(case.ranked, case.truth, ks=(3,), frequency_bins=bins)
    assert report["R[head]@3"] == pytest.approx(1 / 2)
    assert report["R[middle]@3"] == 1
    assert report["P[tail]@3"] == pytest.approx(2 / 12)


@pytest.mark.parametrize("n_bins", [2, 3, 6])
def test_the_bins_add_up_to_the_precision(random_case, n_bins):
    made = random_case(n_bins)
    bins = frequency_bins(made.Y, n_bins=n_bins)
    parts = precision_by_frequency(made.predictions, made.Y, bins, k=4)
    assert len(parts) == n_bins
    assert sum(parts.values()) == pytest.approx(precision_at_k(made.predictions, made.Y, k=4))


def test_bad_bins_are_refused(case):
    for counts in ((10, 100), (10, 10), (11, 10, 10)):
        with pytest.raises(ConfigError, match="numbers that fall"):
            frequency_bins(TRAINING, min_counts=counts)
    with pytest.raises(ConfigError, match=">= 1, got 0"):
        frequency_bins(TRAINING, n_bins=0)
    for bins in ([0, 2], [0.0, 1.0], [[0, 1]]):
        with pytest.raises(DataError, match="0..1"):
            FrequencyBins(("a", "b"), np.array(bins))
    with pytest.raises(DataError, match="label spaces differ"):
        evaluate(case.predictions, case.Y, frequency_bins=frequency_bins(TRAINING))
    with pytest.raises(DataError, match="5 labels and frequency_bins 4"):
        evaluate(
            case.predictions,
            case.Y,
            inverse_propensity=case.weights,
            frequency_bins=frequency_bins(TRAINING),
        )
