"""`evaluate` as a whole: what a report holds and prints."""

from __future__ import annotations

import json

from multitudes.metrics import Resampling, evaluate, evaluate_sets


def test_the_metrics_and_their_order(case):
    report = evaluate(case.ranked, case.truth, ks=(1, 3), inverse_propensity=case.weights)
    assert list(report.values) == [
        f"{name}@{k}"
        for name in (
            *("P", "R", "nDCG", "PSP", "PSR", "PSnDCG"),
            *("macro-P", "macro-R", "macro-F1", "coverage"),
        )
        for k in (1, 3)
    ]
    assert (report.n_instances, report.n_labels) == (4, 5)


def test_the_table(case):
    lines = evaluate(case.ranked, case.truth, ks=(1, 3)).table().splitlines()
    assert lines[0].split() == ["@1", "@3"]
    assert lines[1].split() == ["P", "50.00", "41.67"]
    assert lines[-3] == "4 instances, 5 labels in the truth; in percent"
    assert lines[-2].startswith("Instances without a true label, counted as 0: 1")


def test_the_table_of_sets_with_intervals(case):
    report = evaluate_sets(case.ranked, case.truth, resampling=Resampling(n_resamples=20))
    first = report.table().splitlines()[0]
    assert first.startswith("micro-P")
    assert "55.56 [" in first


def test_predictions_too_short_for_k_are_noted(case):
    short = evaluate(case.predictions.top(2), case.Y, ks=(1, 5), skip_empty=True)
    assert short.notes[0].startswith("Predictions hold at most 2 labels per instance")
    assert evaluate(case.predictions, case.Y, ks=(1, 3), skip_empty=True).notes == ()


def test_to_dict_is_json(case):
    report = evaluate(case.ranked, case.truth, resampling=Resampling(n_resamples=9))
    read = json.loads(json.dumps(report.to_dict()))
    assert read["values"]["P@1"] == 0.5
    assert len(read["intervals"]["P@1"]) == 2
    assert (read["n_instances"], read["n_labels"]) == (4, 5)
