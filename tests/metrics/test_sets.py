"""Metrics of label sets, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.metrics import evaluate_sets, set_scores
from multitudes.types import Predictions

EXPECTED = {
    "micro": (5 / 9, 5 / 6, 10 / 15),
    "macro": ((1 + 1 / 3 + 1 / 2 + 1 / 2 + 1) / 5, (1 / 2 + 4) / 5, (2 / 3 * 3 + 1 / 2 + 1) / 5),
    "weighted": (
        (2 * 1 + 1 / 3 + 1 / 2 + 1 / 2 + 1) / 6,
        (2 * 1 / 2 + 4) / 6,
        (2 * 2 / 3 + 1 / 2 + 2 / 3 + 2 / 3 + 1) / 6,
    ),
    "example": (
        (2 / 3 + 1 / 2 + 0 + 2 / 3) / 4,
        (1 + 1 + 0 + 2 / 3) / 4,
        (4 / 5 + 2 / 3 + 0 + 4 / 6) / 4,
    ),
}


@pytest.mark.parametrize("average", EXPECTED)
def test_by_hand_in_every_input_format(case, average):
    scores = case.predictions.to_csr()
    scores.data -= 100  # a score below 0 is a prediction too
    for predictions in (case.ranked, case.predictions, scores, sp.csr_matrix(scores)):
        for truth in (case.truth, case.Y):
            found = set_scores(predictions, truth, average=average)
            assert tuple(found) == pytest.approx(EXPECTED[average])


def test_the_report_holds_all_of_them(case):
    report = evaluate_sets(case.predictions, case.Y)
    for average, expected in EXPECTED.items():
        found = [report[f"{average}-{name}"] for name in ("P", "R", "F1")]
        assert found == pytest.approx(list(expected)), average


def test_zero_division_is_what_an_empty_denominator_counts():
    assert set_scores([[], [0]], [[], [0]], average="example").f1 == 1 / 2
    assert set_scores([[], [0]], [[], [0]], average="example", zero_division=1.0).f1 == 1
    assert set_scores([[]], [[]], average="micro", zero_division=1.0).precision == 1
    assert set_scores([[]], [[]], average="weighted", zero_division=1.0).recall == 1


def test_skip_empty(case):
    report = evaluate_sets(case.predictions, case.Y, skip_empty=True)
    assert report["example-R"] == pytest.approx((1 + 1 + 2 / 3) / 3)
    assert report["micro-P"] == pytest.approx(5 / 8)
    with pytest.raises(DataError, match="nothing is left"):
        evaluate_sets([[1]], [[]], skip_empty=True)


def test_values_too_small_to_multiply_still_count():
    tiny = sp.csr_array(np.array([[1e-30, 0.0]], np.float32))
    assert set_scores(tiny, tiny).f1 == 1


@pytest.mark.parametrize(
    ("predictions", "truth", "message"),
    [
        ([[1, 1]], [[0]], "label 1 is listed 2 times"),
        (
            Predictions(np.array([[2, 2]], np.int32), np.zeros((1, 2), np.float32), 3),
            [[0]],
            "label 2 is listed 2 times",
        ),
        ([[1]], [[0], [1]], "1 instances and the truth 2"),
        ([], [], "0 instances"),
    ],
)
def test_bad_input_is_refused(predictions, truth, message):
    with pytest.raises(DataError, match=message):
        set_scores(predictions, truth)


def test_an_unknown_average_is_refused():
    with pytest.raises(ConfigError, match="micro.*got 'samples'"):
        set_scores([[0]], [[0]], average="samples")
