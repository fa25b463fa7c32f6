"""Labels by name: the same numbers as by id, from every form in which users hold them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from multitudes.errors import DataError
from multitudes.metrics import (
    compare,
    compare_sets,
    coverage_at_k,
    evaluate,
    evaluate_sets,
    frequency_bins,
    macro_f1_at_k,
    ndcg_at_k,
    precision_at_k,
    precision_by_frequency,
    psp_at_k,
    recall_at_k,
    set_scores,
)

NAMES = ["zebra", "yak", "xerus", "wolf", "vole"]  # not in the order of their ids


class Tag(NamedTuple):
    label: str
    score: float


def named(rows):
    return [[NAMES[label] for label in row] for row in rows]


def scored(rows, kind):
    return [[kind(name, 1 / (2 + rank)) for rank, name in enumerate(row)] for row in rows]


FORMS = {
    "lists": lambda rows: rows,
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "tags": lambda rows: scored(rows, Tag),
    "pairs": lambda rows: scored(rows, lambda *pair: pair),
    "pairs in another order": lambda rows: [row[::-1] for row in scored(rows, lambda *pair: pair)],
    "series": lambda rows: pd.Series(rows),
    "arrays": lambda rows: [np.array(row, dtype=str) for row in rows],
    "array of lists": lambda rows: np.array([*rows, None], object)[:-1],
}


@pytest.mark.parametrize("form", FORMS)
def test_names_give_the_numbers_of_ids(case, form):
    ranked = FORMS[form](named(case.ranked))
    truth = named(case.truth)
    assert evaluate(ranked, truth) == evaluate(case.ranked, case.truth)
    assert evaluate_sets(ranked, truth) == evaluate_sets(case.ranked, case.truth)
    both = (ranked, ranked, truth)
    assert compare(*both) == compare(case.ranked, case.ranked, case.truth)
    assert compare_sets(*both) == compare_sets(case.ranked, case.ranked, case.truth)
    for metric in (precision_at_k, recall_at_k, ndcg_at_k, macro_f1_at_k, coverage_at_k):
        assert metric(ranked, truth, k=2) == metric(case.ranked, case.truth, k=2)
    assert set_scores(ranked, truth) == set_scores(case.ranked, case.truth)


@pytest.mark.parametrize("form", ["lists", "tuples", "series", "arrays", "array of lists", "tags"])
def test_the_truth_may_have_the_same_forms(case, form):
    truth = FORMS[form](named(case.truth))
    assert evaluate(named(case.ranked), truth) == evaluate(case.ranked, case.truth)


def test_dense_arrays_and_tables_of_labels(case):
    scores = case.predictions.to_csr()
    scores.data += 9  # a score of 0 would be no prediction in a dense array
    expected = evaluate(case.predictions, case.Y).values
    dense = (scores.toarray(), case.Y.toarray().astype(int))
    assert evaluate(*dense).values == expected
    frames = [pd.DataFrame(one, columns=NAMES) for one in dense]
    assert evaluate(*frames).values == expected
    assert evaluate_sets(*frames).values == evaluate_sets(case.ranked, case.truth).values


def test_equal_scores_keep_their_order():
    pairs = [[("b", 0.5), ("a", 0.5), ("c", 0.9)]]
    assert precision_at_k(pairs, [["c"]], k=1) == 1
    assert recall_at_k(pairs, [["b"]], k=2) == 1
    assert recall_at_k(pairs, [["a"]], k=2) == 0


def test_a_name_listed_twice_in_the_truth_is_one_label():
    assert recall_at_k([["a"]], [["a", "a", "b"]], k=1) == 1 / 2


def test_rows_without_labels():
    assert evaluate([[], ["a"]], [["a"], []], ks=(1,))["P@1"] == 0
    assert evaluate([[], []], [["a"], []], ks=(1,)).n_labels == 1
    assert evaluate([["a"], []], [[], []], ks=(1,))["R@1"] == 0


def test_what_goes_by_id_does_not_go_with_names(case):
    rows = (named(case.ranked), named(case.truth))
    bins = frequency_bins(case.truth)
    for call in (
        lambda: psp_at_k(*rows, case.weights),
        lambda: evaluate(*rows, inverse_propensity=case.weights),
        lambda: evaluate(*rows, frequency_bins=bins),
        lambda: compare(rows[0], *rows, inverse_propensity=case.weights),
        lambda: precision_by_frequency(*rows, bins),
    ):
        with pytest.raises(DataError, match="named here, such as 'zebra'.*go by label id"):
            call()
    with pytest.raises(DataError, match="'zebra' is a label name where label ids are expected"):
        frequency_bins(rows[1])
