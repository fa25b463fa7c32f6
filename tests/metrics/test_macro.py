"""Metrics averaged over labels, by hand."""

from __future__ import annotations

import pytest

from multitudes.errors import ConfigError, DataError
from multitudes.metrics import (
    coverage_at_k,
    evaluate,
    macro_f1_at_k,
    macro_precision_at_k,
    macro_recall_at_k,
)


def test_by_hand(case):
    # label:      0    1    2    3    4   among the best 3
    # predicted   1    3    2    2    1
    # hits        1    1    1    1    1
    # true        2    1    1    1    1
    assert macro_precision_at_k(case.ranked, case.truth, k=3) == pytest.approx(
        (1 + 1 / 3 + 1 / 2 + 1 / 2 + 1) / 5
    )
    assert macro_recall_at_k(case.ranked, case.truth, k=3) == pytest.approx((1 / 2 + 4) / 5)
    assert macro_f1_at_k(case.ranked, case.truth, k=3) == pytest.approx(
        (2 / 3 + 2 / 4 + 2 / 3 + 2 / 3 + 1) / 5
    )


def test_several_cut_offs_at_once_equal_each_alone(case):
    report = evaluate(case.ranked, case.truth, ks=(1, 2, 3, 9))
    for k in (1, 2, 3, 9):
        assert report[f"macro-P@{k}"] == macro_precision_at_k(case.ranked, case.truth, k=k)
        assert report[f"macro-F1@{k}"] == macro_f1_at_k(case.ranked, case.truth, k=k)
    assert report["macro-P@1"] == pytest.approx((1 + 0 + 0 + 0 + 1) / 5)


def test_coverage_is_the_share_of_true_labels_found_somewhere(case):
    assert coverage_at_k(case.ranked, case.truth, k=1) == pytest.approx(2 / 5)
    assert coverage_at_k(case.ranked, case.truth, k=3) == 1


def test_labels_that_are_never_true_count_only_over_all():
    predictions, truth = [[0, 2]], [[0]]
    assert macro_precision_at_k(predictions, truth, k=2) == pytest.approx(1 / 3)
    assert macro_precision_at_k(predictions, truth, k=2, over="true") == 1
    with pytest.raises(ConfigError, match="'all' or 'true'"):
        macro_precision_at_k(predictions, truth, over="some")


def test_a_label_space_of_nothing_is_refused():
    with pytest.raises(DataError, match="at least one label"):
        macro_precision_at_k([[]], [[]])
