"""Metrics averaged over labels, by hand."""

from __future__ import annotations

import pytest
import scipy.sparse as sp

from multitudes.errors import ConfigError
from multitudes.metrics import (
    coverage_at_k,
    evaluate,
    evaluate_sets,
    macro_f1_at_k,
    macro_precision_at_k,
    macro_recall_at_k,
)
from multitudes.types import Predictions


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


def test_labels_that_occur_nowhere_count_only_over_all():
    predictions, truth = [[0, 2]], [[0, 4]]
    assert macro_precision_at_k(predictions, truth, k=2) == pytest.approx(1 / 3)  # 0, 2 and 4
    assert macro_precision_at_k(predictions, truth, k=1) == pytest.approx(1 / 2)  # 0 and 4
    assert macro_precision_at_k(predictions, truth, k=2, over="true") == pytest.approx(1 / 2)
    assert macro_precision_at_k(predictions, truth, k=2, over="all") == pytest.approx(1 / 5)
    with pytest.raises(ConfigError, match="'occurring', 'true', 'all'"):
        macro_precision_at_k(predictions, truth, over="some")


@pytest.mark.parametrize("n_labels", [5, 6, 1000])
def test_the_size_of_the_label_space_plays_no_part(case, n_labels):
    wide = Predictions(case.predictions.labels, case.predictions.scores, n_labels)
    Y = sp.csr_array((case.Y.data, case.Y.indices, case.Y.indptr), shape=(4, n_labels))
    expected = evaluate(case.predictions, case.Y)
    assert evaluate(wide, Y) == expected
    assert evaluate_sets(wide, Y) == evaluate_sets(case.predictions, case.Y)


def test_nothing_predicted_and_nothing_true_is_0():
    assert macro_precision_at_k([[]], [[]]) == 0
    assert evaluate(sp.csr_array((1, 3)), sp.csr_array((1, 3)))["macro-F1@5"] == 0
