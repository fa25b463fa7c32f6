"""P, R, nDCG and their propensity-scored forms against fractions worked out by hand."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.metrics import (
    coverage_at_k,
    evaluate,
    macro_f1_at_k,
    macro_precision_at_k,
    macro_recall_at_k,
    ndcg_at_k,
    precision_at_k,
    psndcg_at_k,
    psp_at_k,
    psr_at_k,
    recall_at_k,
)
from multitudes.types import Predictions

D = 1 / log2(3)  # what a hit at the second rank counts


def test_precision_by_hand(case):
    assert precision_at_k(case.ranked, case.truth, k=1) == pytest.approx(2 / 4)
    assert precision_at_k(case.ranked, case.truth, k=3) == pytest.approx((2 + 1 + 0 + 2) / 3 / 4)
    assert precision_at_k(case.ranked, case.truth, k=10) == pytest.approx(5 / 10 / 4)


def test_recall_by_hand(case):
    assert recall_at_k(case.ranked, case.truth, k=1) == pytest.approx((1 / 2 + 1 / 3) / 4)
    assert recall_at_k(case.ranked, case.truth, k=3) == pytest.approx((1 + 1 + 0 + 2 / 3) / 4)


def test_ndcg_by_hand_is_normalized_by_the_smaller_of_k_and_the_number_of_labels(case):
    expected = ((1 + 1 / 2) / (1 + D) + D / 1 + 0 + (1 + 1 / 2) / (1 + D + 1 / 2)) / 4
    assert ndcg_at_k(case.ranked, case.truth, k=3) == pytest.approx(expected)
    assert ndcg_at_k(case.ranked, case.truth, k=1) == pytest.approx(2 / 4)


def test_skip_empty_leaves_the_instance_without_labels_out_of_the_mean(case):
    assert precision_at_k(case.ranked, case.truth, k=3, skip_empty=True) == pytest.approx(5 / 9)
    assert recall_at_k(case.ranked, case.truth, k=3, skip_empty=True) == pytest.approx(8 / 9)
    assert ndcg_at_k(case.ranked, case.truth, k=1, skip_empty=True) == pytest.approx(2 / 3)


def test_psp_by_hand_is_a_ratio_of_sums(case):
    assert psp_at_k(case.ranked, case.truth, case.weights, k=1) == pytest.approx(
        (1 + 0 + 5) / (2 + 4 + 5)
    )
    assert psp_at_k(case.ranked, case.truth, case.weights, k=3) == pytest.approx(
        (3 + 4 + 8) / (3 + 4 + 9)
    )


def test_psr_by_hand(case):
    assert psr_at_k(case.ranked, case.truth, case.weights, k=1) == pytest.approx(
        (1 / 2 + 5 / 3) / (2 / 2 + 4 / 1 + 5 / 3)
    )
    assert psr_at_k(case.ranked, case.truth, case.weights, k=3) == pytest.approx(49 / 51)


def test_psndcg_by_hand(case):
    gained = (1 + 2 / 2) / (1 + D) + 4 * D + (5 + 3 / 2) / (1 + D + 1 / 2)
    possible = (2 + D) / (1 + D) + 4 + (5 + 3 * D + 1 / 2) / (1 + D + 1 / 2)
    assert psndcg_at_k(case.ranked, case.truth, case.weights, k=3) == pytest.approx(
        gained / possible
    )


def test_equal_propensities_make_psp_the_precision_over_the_best_possible(case):
    psp = psp_at_k(case.ranked, case.truth, np.full(5, 7.0), k=3)
    assert psp == pytest.approx((2 + 1 + 2) / (2 + 1 + 3))


def test_every_input_format_gives_the_same_numbers(case):
    scores = case.predictions.to_csr()
    pairs = [
        [(label, -rank) for rank, label in reversed(list(enumerate(row)))] for row in case.ranked
    ]
    predictions = [case.predictions, case.ranked, scores, sp.csr_matrix(scores), pairs]
    truths = [case.truth, case.Y, sp.csr_matrix(case.Y), case.Y.astype(bool)]
    expected = evaluate(case.ranked, case.truth, inverse_propensity=case.weights).values
    assert expected["P@3"] == pytest.approx(5 / 12)
    for one in predictions:
        for truth in truths:
            found = evaluate(one, truth, inverse_propensity=case.weights).values
            assert found == pytest.approx(expected)


def test_ties_of_scores_go_to_the_smaller_label():
    scores = sp.csr_array(np.array([[0.5, 0.7, 0.7, 0.5]], np.float32))
    assert precision_at_k(scores, [[1]], k=1) == 1
    assert precision_at_k(scores, [[2]], k=1) == 0
    assert precision_at_k([[(3, 0.5), (2, 0.7), (0, 0.5), (1, 0.7)]], [[0]], k=3) == 1 / 3
    assert precision_at_k([[(3, 0.5), (2, 0.7), (0, 0.5), (1, 0.7)]], [[3]], k=3) == 0


def test_a_perfect_ranking_scores_one_where_one_can_be_reached(random_case):
    made = random_case(3)
    labels = np.split(made.Y.indices, made.Y.indptr[1:-1])
    best = [sorted(row.tolist(), key=lambda label: -made.weights[label]) for row in labels]
    report = evaluate(
        Predictions.from_lists(best, None, made.Y.shape[1]),
        made.Y,
        ks=(1, 5),
        inverse_propensity=made.weights,
        skip_empty=True,
    )
    for name in ("R@5", "nDCG@1", "nDCG@5", "PSP@1", "PSP@5", "PSnDCG@5", "PSR@5"):
        assert report[name] == pytest.approx(1), name


@pytest.mark.parametrize("random_state", range(3))
def test_the_order_of_instances_does_not_matter(random_case, random_state):
    made = random_case(random_state)
    order = made.rng.permutation(len(made.predictions))
    plain = evaluate(made.predictions, made.Y, inverse_propensity=made.weights)
    moved = evaluate(made.predictions[order], made.Y[order], inverse_propensity=made.weights)
    assert moved.values == pytest.approx(plain.values)


@pytest.mark.parametrize("random_state", range(3))
def test_the_names_of_labels_do_not_matter(random_case, random_state):
    made = random_case(random_state)
    n_labels = made.Y.shape[1]
    new_id = made.rng.permutation(n_labels)
    labels = np.where(made.predictions.labels < 0, -1, new_id[made.predictions.labels])
    renamed = Predictions(labels.astype(np.int32), made.predictions.scores, n_labels)
    weights = np.empty(n_labels)
    weights[new_id] = made.weights
    Y = made.Y[:, np.argsort(new_id)]
    plain = evaluate(made.predictions, made.Y, inverse_propensity=made.weights)
    assert evaluate(renamed, Y, inverse_propensity=weights).values == pytest.approx(plain.values)


def test_every_instance_twice_changes_nothing(random_case):
    made = random_case(1)
    twice = np.repeat(np.arange(len(made.predictions)), 2)
    plain = evaluate(made.predictions, made.Y, inverse_propensity=made.weights)
    doubled = evaluate(made.predictions[twice], made.Y[twice], inverse_propensity=made.weights)
    assert doubled.values == pytest.approx(plain.values)


@pytest.mark.parametrize(
    "metric",
    [
        *(precision_at_k, recall_at_k, ndcg_at_k, psp_at_k, psr_at_k, psndcg_at_k),
        *(macro_precision_at_k, macro_recall_at_k, macro_f1_at_k, coverage_at_k),
    ],
)
def test_five_labels_are_looked_at_unless_told_otherwise(metric):
    """Each instance has labels of its own, which are predicted after as many wrong ones as i."""
    truth = [list(range(8 * i, 8 * i + 8)) for i in range(6)]
    ranked = [[100 + j for j in range(i)] + rows for i, rows in enumerate(truth)]
    weights = (np.linspace(1, 9, 106),) if metric.__name__.startswith("ps") else ()
    Y = sp.csr_array(np.kron(np.eye(6, 106 // 8), np.ones(8)))
    Y.resize(6, 106)
    predictions = Predictions.from_lists(ranked, None, 106)
    default = metric(predictions, Y, *weights)
    four, five, six = (metric(predictions, Y, *weights, k=k) for k in (4, 5, 6))
    assert four != default == five != six
