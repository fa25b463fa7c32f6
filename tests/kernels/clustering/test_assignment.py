"""The assignment kernels against their slow twins."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels.clustering.assignment import auction, count_reached, top_counts
from tests.kernels.twins import clustering as reference


def rows(dense):
    matrix = sp.csr_array(dense)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)


def zero_one(rng, shape, density):
    return (rng.random(shape) < density).astype(np.int64)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("density", [0.0, 0.2, 0.7, 1.0])
def test_reached_positives_equal_the_traces(seed, density):
    rng = np.random.default_rng(seed)
    n, n_labels, n_clusters = rng.integers(1, 12, 3)
    Y = zero_one(rng, (n, n_labels), 0.4)
    matches = zero_one(rng, (n, n_clusters), density)
    assignment = zero_one(rng, (n_labels, n_clusters), 0.3)
    found = count_reached(
        *rows(Y), *rows(matches), *rows(assignment), np.full(n_clusters, -1, np.int64)
    )
    assert found == reference.count_reached(Y, matches, assignment)


@pytest.mark.parametrize("overlap", [1, 2, 3, 9])
@pytest.mark.parametrize("seed", range(10))
def test_top_counts_equal_their_twin_with_ties_and_empty_rows(seed, overlap):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, (15, 8)) * (rng.random((15, 1)) < 0.8)
    matrix = sp.csr_array(counts.astype(np.float32))
    keep = np.empty(matrix.nnz, bool)
    limits = rng.integers(1, overlap + 1, len(counts))
    top_counts(matrix.indptr.astype(np.int64), matrix.data, limits, keep)
    found = np.zeros(counts.shape, bool)
    found[matrix.nonzero()] = keep
    np.testing.assert_array_equal(found, reference.top_counts(counts, limits))


def run_auction(counts, home, limits, places, order, *, step, patience, max_turns):
    matrix = sp.csr_array(counts)
    held = np.empty(matrix.nnz + len(home), bool)
    turns = auction(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float32),
        np.array(home, np.int32),
        np.array(limits, np.int64),
        np.concatenate([[0], np.cumsum(places)]).astype(np.int64),
        np.array(order, np.int32),
        step,
        patience,
        max_turns,
        held,
    )
    won = np.zeros(counts.shape, bool)
    won[matrix.nonzero()] = held[: matrix.nnz]
    at_home = np.flatnonzero(held[matrix.nnz :])
    assert not won[at_home, np.array(home)[at_home]].any()
    won[at_home, np.array(home)[at_home]] = True
    return won, turns


def auction_problem(seed, *, largest, slack):
    """Counts, homes and places; homes fit the places, and every cluster has one."""
    rng = np.random.default_rng(seed)
    n_labels, n_clusters = int(rng.integers(1, 25)), int(rng.integers(1, 6))
    counts = rng.integers(1, largest + 1, (n_labels, n_clusters))
    counts *= (rng.random(counts.shape) < 0.6) & (rng.random((n_labels, 1)) < 0.9)
    home = rng.permutation(np.arange(n_labels) % n_clusters)
    places = np.bincount(home, minlength=n_clusters) + rng.integers(0, slack + 1, n_clusters)
    order = rng.permutation(n_labels)
    limits = rng.integers(1, int(rng.integers(1, n_clusters + 1)) + 1, n_labels)
    return counts, home.tolist(), limits.tolist(), np.maximum(places, 1).tolist(), order.tolist()


@pytest.mark.parametrize("slack", [0, 1, 5])
@pytest.mark.parametrize("largest", [1, 3, 50])
@pytest.mark.parametrize("seed", range(15))
def test_auction_equals_its_twin(seed, largest, slack):
    problem = auction_problem(seed, largest=largest, slack=slack)
    settings = {"step": 0.25, "patience": 50, "max_turns": 400}
    won, turns = run_auction(*problem, **settings)
    expected, expected_turns = reference.auction(*problem, **settings)
    np.testing.assert_array_equal(won, expected)
    assert turns == expected_turns


@pytest.mark.parametrize("max_turns", [0, 1, 5, 20])
@pytest.mark.parametrize("seed", range(15))
def test_an_auction_cut_short_equals_its_twin_and_places_everyone(seed, max_turns):
    problem = auction_problem(seed, largest=9, slack=0)
    settings = {"step": 0.25, "patience": 8, "max_turns": max_turns}
    won, _ = run_auction(*problem, **settings)
    np.testing.assert_array_equal(won, reference.auction(*problem, **settings)[0])
    assert won.any(axis=1).all()
    assert (won.sum(axis=0) <= problem[3]).all()


def test_of_equal_bids_that_of_the_larger_label_gives_way():
    counts = np.array([[5, 0], [5, 0], [9, 0]])
    won, _ = run_auction(
        *(counts, [1, 1, 1], [1, 1, 1], [2, 3], [0, 1, 2]), step=0.5, patience=99, max_turns=99
    )
    assert won.tolist() == [[True, False], [False, True], [True, False]]
