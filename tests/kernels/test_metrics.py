"""The kernels of evaluation against their slow twins."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels import metrics
from tests.kernels.twins import metrics as reference


def rankings(rng, n, width, n_labels):
    """Rows of distinct labels, some shorter than `width`."""
    labels = np.full((n, width), -1, np.int32)
    for row in labels:
        size = rng.integers(0, min(width, n_labels) + 1)
        row[:size] = rng.choice(n_labels, size, replace=False)
    return labels


def sparse(rng, n, n_labels, density=0.3):
    Y = sp.csr_array(sp.random(n, n_labels, density, random_state=rng, dtype=np.float32))
    Y.sort_indices()
    return Y, Y.indptr.astype(np.int64), Y.indices.astype(np.int32)


def run_find_hits(labels, indptr, indices, n_labels):
    row, rank = np.empty(len(indices), np.int32), np.empty(len(indices), np.int32)
    n_hits = metrics.find_hits(labels, indptr, indices, np.zeros(n_labels, np.int32), row, rank)
    return n_hits, list(zip(row[:n_hits].tolist(), rank[:n_hits].tolist(), strict=True))


@pytest.mark.parametrize(
    ("n", "width", "n_labels"), [(40, 7, 12), (1, 5, 5), (30, 1, 3), (5, 0, 4), (0, 3, 4)]
)
def test_find_hits_equals_its_twin(n, width, n_labels):
    rng = np.random.default_rng(n)
    labels = rankings(rng, n, width, n_labels)
    _, indptr, indices = sparse(rng, n, n_labels)
    n_hits, hits = run_find_hits(labels, indptr, indices, n_labels)
    assert hits == reference.find_hits(labels, indptr, indices)
    assert n_hits == len(hits)


@pytest.mark.parametrize("row", [[1, 1, -1], [0, 2, 0], [2, -1, 1], [-1, -1, 0]])
def test_find_hits_refuses_the_row_its_twin_refuses(row):
    labels = np.array([[0, 1, 2], row, [0, 0, 0]], np.int32)
    indptr, indices = np.array([0, 1, 3, 3]), np.array([0, 0, 1], np.int32)
    n_hits, _ = run_find_hits(labels, indptr, indices, 3)
    with pytest.raises(ValueError, match="1"):
        reference.find_hits(labels, indptr, indices)
    assert -1 - n_hits == 1


@pytest.mark.parametrize(("n", "width"), [(50, 6), (1, 6), (0, 6), (4, 0)])
def test_count_predicted_equals_its_twin(n, width):
    labels = rankings(np.random.default_rng(n), n, width, 9)
    section = np.array([0, 1, 1, 2, 2, 2])[:width]
    counts = np.zeros((3, 9), np.int64)
    metrics.count_predicted(labels, section, counts)
    np.testing.assert_array_equal(counts, reference.count_predicted(labels, section, 3, 9))


@pytest.mark.parametrize("n", [0, 1, 60])
def test_rank_in_rows_equals_its_twin_with_ties(n):
    rng = np.random.default_rng(n)
    _, indptr, indices = sparse(rng, n, 20)
    weights = rng.integers(0, 4, len(indices)).astype(np.float64)
    ranks = np.empty(len(indices), np.int32)
    metrics.rank_in_rows(indptr, weights, ranks)
    np.testing.assert_array_equal(ranks, reference.rank_in_rows(indptr, weights))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "top_k"), [(60, 3), (60, 20), (1, 1), (0, 2)])
def test_best_in_rows_equals_its_twin_with_ties(n, top_k, dtype):
    rng = np.random.default_rng(n)
    _, indptr, indices = sparse(rng, n, 20)
    scores = rng.integers(-2, 3, len(indices)).astype(dtype)
    for i in range(n):  # the order of a row's entries must not matter
        rng.shuffle(indices[indptr[i] : indptr[i + 1]])
    labels = np.full((n, top_k), -1, np.int32)
    metrics.best_in_rows(indptr, indices, scores, np.empty(top_k, dtype), labels)
    np.testing.assert_array_equal(labels, reference.best_in_rows(indptr, indices, scores, top_k))


@pytest.mark.parametrize("n_draws", [0, 1, 40])
def test_count_draws_equals_its_twin(n_draws):
    draws = np.random.default_rng(n_draws).integers(0, 9, n_draws, np.int32)
    counts = np.full(9, np.nan)
    metrics.count_draws(draws, counts)
    np.testing.assert_array_equal(counts, reference.count_draws(draws, 9))
