"""Our metrics against scikit-learn's, where the two define the same thing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import (
    f1_score,
    ndcg_score,
    precision_recall_fscore_support,
    precision_score,
    recall_score,
)
from sklearn.preprocessing import MultiLabelBinarizer

from multitudes.metrics import evaluate, ndcg_at_k, set_scores
from multitudes.types import Predictions


def indicator(rng, n, n_labels, density):
    """A 0/1 matrix with empty rows and labels that never occur."""
    matrix = (rng.random((n, n_labels)) < density).astype(np.float32)
    matrix[rng.random(n) < 0.15] = 0
    matrix[:, rng.random(n_labels) < 0.15] = 0
    return sp.csr_array(matrix)


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "example"])
@pytest.mark.parametrize("random_state", range(3))
def test_sets(random_state, average, zero_division):
    rng = np.random.default_rng(random_state)
    predictions, truth = indicator(rng, 120, 25, 0.2), indicator(rng, 120, 25, 0.15)
    kept = (np.arange(25) > 1)[None, :]  # labels that occur nowhere play no part
    predictions, truth = (sp.csr_array(one.multiply(kept)) for one in (predictions, truth))
    occurring = np.flatnonzero((truth + predictions).sum(axis=0))
    assert len(occurring) < 25
    ours = set_scores(predictions, truth, average=average, zero_division=zero_division)
    theirs = precision_recall_fscore_support(
        sp.csr_matrix(truth),
        sp.csr_matrix(predictions),
        labels=occurring,
        average="samples" if average == "example" else average,
        zero_division=zero_division,
    )
    assert tuple(ours) == pytest.approx(theirs[:3], abs=1e-6)


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_macro_over_all_columns(zero_division):
    rng = np.random.default_rng(0)
    predictions, truth = indicator(rng, 20, 60, 0.08), indicator(rng, 20, 60, 0.08)
    ours = set_scores(predictions, truth, average="macro", zero_division=zero_division, over="all")
    theirs = precision_recall_fscore_support(
        sp.csr_matrix(truth),
        sp.csr_matrix(predictions),
        average="macro",
        zero_division=zero_division,
    )
    assert tuple(ours) == pytest.approx(theirs[:3], abs=1e-9)
    less = set_scores(predictions, truth, average="macro", zero_division=zero_division)
    assert less != ours


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("random_state", range(3))
def test_macro_at_k(random_state, k):
    """The best k labels as sets, over the labels that occur in the truth or among them."""
    rng = np.random.default_rng(random_state)
    truth = indicator(rng, 60, 90, 0.02)
    scores = indicator(rng, 60, 90, 0.05).multiply(rng.random((60, 90)))
    ranking = Predictions.from_csr(sp.csr_array(scores), 7)
    best = ranking.top(k).to_csr() > 0
    occurring = np.flatnonzero((truth + best).sum(axis=0))
    assert 0 < len(occurring) < 90
    report = evaluate(ranking, truth, ks=(1, 3, 5))
    for name, score in (("P", precision_score), ("R", recall_score), ("F1", f1_score)):
        theirs = score(
            sp.csr_matrix(truth),
            sp.csr_matrix(best),
            labels=occurring,
            average="macro",
            zero_division=0,
        )
        assert report[f"macro-{name}@{k}"] == pytest.approx(theirs, abs=1e-9)


def test_macro_of_names_is_that_of_a_binarizer_that_saw_both():
    """Its columns are the labels that occur, so that no labels need to be named."""
    truth, found = [["a", "b"], [], ["c"]], [["a"], ["d"], ["c", "b"]]
    binarizer = MultiLabelBinarizer().fit(truth + found)
    expected = f1_score(
        binarizer.transform(truth), binarizer.transform(found), average="macro", zero_division=0
    )
    assert set_scores(found, truth, average="macro").f1 == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("random_state", range(3))
def test_ndcg_without_ties(random_state, k):
    """scikit-learn averages over the orders of tied scores; without ties the two agree."""
    rng = np.random.default_rng(random_state)
    truth = indicator(rng, 100, 20, 0.2)
    scores = rng.permuted(np.tile(np.arange(1.0, 21.0), (100, 1)), axis=1)
    theirs = ndcg_score(truth.toarray(), scores, k=k)
    assert ndcg_at_k(sp.csr_array(scores), truth, k=k) == pytest.approx(theirs, abs=1e-6)


def test_ndcg_with_ties_differs_as_documented():
    scores, truth = np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])
    assert ndcg_at_k(sp.csr_array(scores), sp.csr_array(truth), k=1) == 1  # the smaller id first
    assert ndcg_score(truth, scores, k=1) == pytest.approx(1 / 2)
