"""docs/which-model.md: its tables are of the stored records, and its sentences agree with them."""

from __future__ import annotations

import re

from benchmarks import which_model_tables as tables

PAGE = tables.PAGE.read_text(encoding="utf-8")
MODELS = tables.linear_models()


def test_the_tables_are_those_of_the_stored_records():
    assert set(re.findall(r"<!-- table: (\w+) -->", PAGE)) == set(tables.TABLES)
    assert tables.with_tables(PAGE) == PAGE


def test_another_number_would_be_noticed():
    number = re.search(r"\*\*(\d\d\.\d)\*\*", PAGE)
    assert number is not None
    assert tables.with_tables(PAGE.replace(number[1], "99.9")) != PAGE.replace(number[1], "99.9")


def test_what_overlap_gains_is_as_the_page_says():
    plain, overlap = "xr-linear", "xr-linear, overlap 2"
    gains = [found[overlap]["p1"] - found[plain]["p1"] for found in MODELS.values()]
    assert f"{min(gains):.1f} to {max(gains):.1f} points of P@1 more" in PAGE
    costs = [
        found[overlap]["train_cpu_s"] / found[plain]["train_cpu_s"] for found in MODELS.values()
    ]
    assert [round(cost) for cost in costs] == [2, 2, 2], "twice the training"


def test_what_calibrated_sets_gain_is_as_the_page_says():
    made = tables.record("sets")["results"]["summary"]
    gains = [
        made[f"{name}/disentangled"][f"{kind}_f1_sets"]
        - made[f"{name}/disentangled"][f"{kind}_f1_fixed"]
        for name in ("eurlex-titles", "debian-debtags")
        for kind in ("micro", "example")
    ]
    low, high = re.findall(r"by (\d+) to (\d+) points of F1", PAGE)[0]
    assert int(low) == round(min(gains)), gains
    assert int(high) == round(max(gains)), gains


def test_what_is_said_of_one_vs_all_holds():
    eurlex, debtags = MODELS["eurlex-titles"], MODELS["debian-debtags"]
    assert max(eurlex, key=lambda name: eurlex[name]["p1"]) == "one-vs-all"
    assert eurlex["one-vs-all"]["train_cpu_s"] > 10 * eurlex["xr-linear"]["train_cpu_s"]
    assert abs(debtags["one-vs-all"]["p1"] - debtags["xr-linear"]["p1"]) < 1
    assert max(debtags, key=lambda name: debtags[name]["p1"]) == "parabel"
