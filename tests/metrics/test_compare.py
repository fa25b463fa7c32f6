"""The paired test between two predictions."""

from __future__ import annotations

import json

import numpy as np
import pytest

from multitudes.errors import DataError
from multitudes.metrics import (
    Comparison,
    Difference,
    Resampling,
    bootstrap,
    compare,
    compare_sets,
    evaluate,
)
from multitudes.types import Predictions


def test_the_p_value_of_three_wins_out_of_three():
    # Of the 8 ways to flip three signs, 2 give a difference as large.
    found = compare([[0]] * 3, [[1]] * 3, [[0]] * 3, ks=(1,), resampling=Resampling(5000))
    assert found["P@1"].difference == 1
    assert found["P@1"].p_value == pytest.approx(2 / 8, abs=0.02)
    assert (found["P@1"].low, found["P@1"].high) == (1, 1)


def test_a_clear_difference_is_found_and_equal_predictions_are_equal(random_case):
    made = random_case(0)
    truth = [row.tolist() for row in np.split(made.Y.indices, made.Y.indptr[1:-1])]
    perfect = Predictions.from_lists(truth, None, made.Y.shape[1])
    found = compare(perfect, made.predictions, made.Y, resampling=Resampling(n_resamples=500))
    assert found["P@1"].p_value == pytest.approx(1 / 501)
    assert found["P@1"].low > 0
    same = compare(perfect, perfect, made.Y, resampling=Resampling(n_resamples=50))
    assert same["nDCG@5"].p_value == 1
    assert (same["P@1"].difference, same["P@1"].low, same["P@1"].high) == (0, 0, 0)


def test_values_are_those_of_evaluate_and_swapping_turns_the_sign(random_case):
    made = random_case(1)
    options = {"inverse_propensity": made.weights, "resampling": Resampling(n_resamples=99)}
    one = compare(made.predictions, made.other, made.Y, **options)
    two = compare(made.other, made.predictions, made.Y, **options)
    report = evaluate(made.predictions, made.Y, inverse_propensity=made.weights)
    assert set(one.differences) == set(report.values) - {
        name for name in report.values if name.startswith(("macro", "coverage"))
    }
    for name, d in one.differences.items():
        assert d.a == report[name]
        assert d.difference == pytest.approx(-two[name].difference)
        assert d.p_value == two[name].p_value
        assert (d.low, d.high) == pytest.approx((-two[name].high, -two[name].low))


def test_without_a_difference_p_values_are_spread_evenly(random_case):
    p_values = []
    for random_state in range(60):
        made = random_case(random_state, n=60)
        found = compare(
            made.predictions, made.other, made.Y, ks=(5,), resampling=Resampling(n_resamples=99)
        )
        p_values.append(found["R@5"].p_value)
    assert 0.4 < np.mean(p_values) < 0.6
    assert np.mean(np.array(p_values) <= 0.1) < 0.25


def test_sets_whose_sizes_differ_are_compared_by_both_sums():
    truth = [[0, 1]] * 20
    found = compare_sets([[0]] * 20, [[0, 1, 2, 3]] * 20, truth)
    assert found["micro-P"].a == 1
    assert found["micro-P"].b == 1 / 2
    assert found["micro-R"].difference == -1 / 2
    assert found["micro-P"].p_value < 0.01


def test_the_batch_does_not_change_p_values(random_case, monkeypatch):
    made = random_case(3)

    def p_values():
        sampling = Resampling(n_resamples=60)
        found = compare(made.predictions, made.other, made.Y, resampling=sampling)
        return {name: d.p_value for name, d in found.differences.items()}

    whole = p_values()
    monkeypatch.setattr(bootstrap, "NUMBERS_IN_MEMORY", 500)
    assert p_values() == whole


def test_the_table_and_the_json(case):
    found = compare(case.ranked, [[1]] * 4, case.truth, ks=(1,), resampling=Resampling(20))
    lines = found.table().splitlines()
    assert lines[1].split()[:4] == ["P@1", "50.00", "25.00", "+25.00"]
    assert json.loads(json.dumps(found.to_dict()))["differences"]["P@1"]["a"] == 0.5


def test_other_instances_are_refused():
    with pytest.raises(DataError, match="2 instances and the truth 1"):
        compare([[0]], [[0], [1]], [[0]])


def test_a_row_has_the_ends_of_the_interval_in_percent_and_p():
    low, high, p = -0.0125, 0.25, 0.04321
    found = Comparison({"P@1": Difference(0.5, 0.375, 0.125, low, high, p)}, 8, Resampling(5))
    header, row = found.rows()
    assert header[-2:] == ["95% interval", "p"]
    assert row == ["P@1", "50.00", "37.50", "+12.50", "[-1.25, +25.00]", "0.0432"]
    assert found.remarks()[0].startswith("8 instances; in percent")
