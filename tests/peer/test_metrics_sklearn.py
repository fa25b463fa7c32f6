"""Our metrics against scikit-learn's, where the two define the same thing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import (
    ndcg_score,
    precision_recall_fscore_support,
)

from multitudes.metrics import ndcg_at_k, set_scores


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
    ours = set_scores(predictions, truth, average=average, zero_division=zero_division)
    theirs = precision_recall_fscore_support(
        sp.csr_matrix(truth),
        sp.csr_matrix(predictions),
        average="samples" if average == "example" else average,
        zero_division=zero_division,
    )
    assert tuple(ours) == pytest.approx(theirs[:3], abs=1e-6)


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
