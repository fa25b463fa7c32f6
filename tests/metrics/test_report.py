"""`evaluate` as a whole: what a report holds and prints."""

from __future__ import annotations

import json

from multitudes import views
from multitudes.metrics import (
    Report,
    Resampling,
    UnknownLabels,
    compare,
    evaluate,
    evaluate_sets,
    frequency_bins,
)


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


def test_lists_are_not_called_short_that_hold_all_labels_there_are():
    everything, more = (evaluate([[0, 1], [1]], [[1], [last]], ks=(1, 5)) for last in (0, 2))
    assert everything.notes == ()
    assert more.notes[0].startswith("Predictions hold at most 2 labels per instance")


def test_to_dict_is_json(case):
    report = evaluate(case.ranked, case.truth, resampling=Resampling(n_resamples=9))
    read = json.loads(json.dumps(report.to_dict()))
    assert read["values"]["P@1"] == 0.5
    assert len(read["intervals"]["P@1"]) == 2
    assert (read["n_instances"], read["n_labels"]) == (4, 5)


def test_tables_fit_70_columns(case):
    full = {"inverse_propensity": case.weights, "frequency_bins": frequency_bins(case.Y)}
    drawn = Resampling(n_resamples=9)
    report = evaluate(case.ranked, case.Y, **full, resampling=drawn).with_unknown(
        UnknownLabels(412, 1530)
    )
    rows = report.rows()
    assert rows[0] == ["", "%", "interval"]  # a column for each k would be too wide
    assert rows[1][:2] == ["P@1", "50.00"]
    assert rows[1][2].startswith("[")
    assert next(row for row in rows if row[0] == "macro-F1@5")[2] == ""
    wide = evaluate(case.ranked, case.Y, ks=range(1, 15), **full)
    assert wide.rows()[0] == ["", "%"]
    comparison = compare(case.ranked, case.Y, case.Y, inverse_propensity=case.weights)
    for one in (
        report,
        wide,
        evaluate(case.ranked, case.Y, **full),
        evaluate_sets(case.ranked, case.Y, resampling=drawn),
        comparison.with_unknown(UnknownLabels(412, 1530)),
    ):
        assert max(map(len, one.table().splitlines())) <= 70


def test_few_cut_offs_have_columns_also_with_intervals(case):
    rows = evaluate(case.ranked, case.Y, ks=(1, 3), resampling=Resampling(n_resamples=9)).rows()
    assert rows[0] == ["", "@1", "@3"]
    assert rows[1][1].startswith("50.00 [")


def test_more_cut_offs_change_no_number(case):
    few, many = (evaluate(case.ranked, case.Y, ks=ks).values for ks in ((1, 3), range(1, 9)))
    assert few.items() <= many.items()


def test_the_best_one_three_and_five_are_looked_at_unless_told_otherwise(case):
    report = evaluate(case.ranked, case.truth)
    assert [name for name in report.values if name.startswith("P@")] == ["P@1", "P@3", "P@5"]
    compared = compare(case.ranked, case.ranked, case.truth, resampling=Resampling(5))
    assert list(compared.differences)[:3] == ["P@1", "P@3", "P@5"]


def test_a_notebook_shows_the_table_and_its_remarks_and_nothing_between(case):
    found = Report({"P@1": 0.5}, 4, 5)
    shown = found._repr_html_()
    header, *rows = found.rows()
    table = views.table(header, rows)
    assert shown.startswith(str(table) + "<div")
    assert shown.count("<div") == len(found.remarks()) == 1
    assert found.table().splitlines()[-1].startswith("4 instances, 5 labels")
