"""Labels go where their counts are largest, with and without a cap."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.disentangle import assign, default_cluster_cap, match_counts, tp_bound
from multitudes.disentangle import capped as capped_module
from multitudes.disentangle.leaf_assignment import CLUSTER_SLACK, ranked_counts
from multitudes.errors import ConfigError, DataError
from multitudes.labels import LabelTree

from .problems import KINDS, matched_problem, optimum, partition, sparse

CURRENT = partition([0, 0, 1, 2], 3)


def value(counts, assignment):
    return float(counts.multiply(assignment).sum())


def assert_valid(assignment, *, overlap, cap):
    copies = np.diff(assignment.indptr)
    assert copies.min() >= 1
    assert copies.max() <= overlap
    assert np.bincount(assignment.indices).max() <= cap
    assert (assignment.data == 1).all()
    assert assignment.has_canonical_format
    assert assignment.dtype == np.float32


# ---------------------------------------------------------------------- counts


def test_match_counts_are_the_product():
    rng = np.random.default_rng(0)
    Y, matches = (rng.random((30, 7)) < 0.3) * 1, (rng.random((30, 5)) < 0.4) * 1
    counts = match_counts(sparse(Y), sparse(matches))
    np.testing.assert_array_equal(counts.toarray(), Y.T @ matches)
    assert counts.dtype == np.float32
    assert counts.has_sorted_indices


def test_match_counts_ignore_weights():
    counts = match_counts(sparse([[5.0], [0.1]]), sparse([[2.0], [3.0]]))
    assert counts.toarray().tolist() == [[2]]


def test_match_counts_refuse_other_instances():
    with pytest.raises(DataError, match="Y has 2 rows and matches has 1"):
        match_counts(sparse([[1], [0]]), sparse([[1]]))


def test_equal_counts_are_ranked_by_the_matchers_scores_and_others_are_not():
    """Label 0: two instances in clusters 0 and 1 alike, cluster 1 with the better scores.

    Label 1: cluster 0 twice with poor scores, cluster 2 once with the best there is.
    """
    Y = sparse([[1, 0], [1, 0], [0, 1], [0, 1]])
    scores = sparse([[0.2, 0.9, 0], [0.3, 0.4, 0], [0.1, 0, 1.0], [0.1, 0, 0]])
    ranked = ranked_counts(Y, scores)
    counts = match_counts(Y, scores)
    assert np.abs(ranked - counts).max() < 0.5
    assert ranked[0, 1] > ranked[0, 0]
    assert ranked[1, 0] > ranked[1, 2]
    found = assign(ranked, partition([0, 0], 3), overlap=1)
    assert found.toarray().tolist() == [[0, 1, 0], [1, 0, 0]]
    tied = assign(counts, partition([0, 0], 3), overlap=1)
    assert tied.toarray().tolist() == [[1, 0, 0], [1, 0, 0]]


# ---------------------------------------------------------------------- without a cap


def test_the_largest_counts_win_and_ties_go_to_the_smaller_cluster():
    counts = sparse([[3, 9, 5], [4, 4, 4], [0, 0, 2], [7, 8, 8]])
    found = assign(counts, CURRENT, overlap=2)
    assert found.toarray().tolist() == [[0, 1, 1], [1, 1, 0], [0, 0, 1], [0, 1, 1]]
    assert_valid(found, overlap=2, cap=4)


def test_a_label_without_counts_keeps_its_clusters_up_to_the_overlap():
    current = sparse([[1, 1, 1], [0, 1, 0]])
    found = assign(sp.csr_array((2, 3)), current, overlap=2)
    assert found.toarray().tolist() == [[1, 1, 0], [0, 1, 0]]


def test_makes_a_tree():
    tree = LabelTree.from_leaves([[0, 1], [2], [3]])
    counts = sparse([[3, 9, 5], [4, 0, 0], [0, 0, 2], [7, 8, 8]])
    found = assign(counts, tree.label_clusters(1), overlap=2)
    moved = tree.with_leaves(found)
    assert [moved.labels_of_leaf(leaf).tolist() for leaf in range(3)] == [[1], [0, 3], [0, 2, 3]]


# ---------------------------------------------------------------------- with a cap


@pytest.mark.parametrize("kind", KINDS)
def test_a_cap_that_binds_nobody_changes_nothing(kind):
    rng = np.random.default_rng(1)
    for overlap in (1, 2, 3):
        Y, matches, current = matched_problem(rng, kind)
        counts = match_counts(Y, matches)
        free = assign(counts, current, overlap=overlap)
        wide = assign(counts, current, overlap=overlap, max_cluster_size=Y.shape[1])
        assert (wide != free).nnz == 0


def ratios_to_optimum(kind, n_cases):
    """Achieved over best, for random overlaps and caps from the tightest to twice that."""
    rng = np.random.default_rng(7)
    ratios = []
    for _ in range(n_cases):
        Y, matches, current = matched_problem(rng, kind)
        counts = match_counts(Y, matches)
        n_labels, n_clusters = counts.shape
        overlap = int(rng.integers(1, min(4, n_clusters) + 1))
        tightest = -(-n_labels // n_clusters)
        cap = int(rng.integers(tightest, 2 * tightest + 2))
        found = assign(counts, current, overlap=overlap, max_cluster_size=cap)
        assert_valid(found, overlap=overlap, cap=cap)
        best = optimum(counts, current, overlap=overlap, cap=cap)
        ratios.append(value(counts, found) / best)
    return np.array(ratios)


@pytest.mark.parametrize("kind", KINDS)
def test_comes_close_to_the_exact_optimum(kind):
    ratios = ratios_to_optimum(kind, 40)
    assert ratios.max() <= 1 + 1e-6
    assert ratios.mean() >= 0.998
    assert ratios.min() >= 0.97


def test_comes_close_to_the_optimum_of_large_and_of_fractional_counts():
    rng = np.random.default_rng(3)
    for scale in (1e4, 1e-3):
        counts = sparse(rng.gamma(2, scale, (60, 6)) * (rng.random((60, 6)) < 0.7))
        current = partition(np.arange(60) % 6, 6)
        found = assign(counts, current, overlap=2, max_cluster_size=14)
        best = optimum(counts, current, overlap=2, cap=14)
        assert value(counts, found) >= 0.99 * best


def test_each_cluster_may_have_a_cap_of_its_own():
    rng = np.random.default_rng(4)
    for _ in range(20):
        counts = sparse(rng.integers(0, 20, (30, 5)))
        caps = rng.permutation([0, 4, 9, 15, 20])
        current = partition(rng.choice(5, 30, p=caps / caps.sum()), 5)
        found = assign(counts, current, overlap=2, max_cluster_size=caps)
        assert (found.toarray().sum(axis=0) <= caps).all()
        assert set(found.toarray().sum(axis=1)) <= {1, 2}
        free = assign(counts, current, overlap=2, max_cluster_size=np.full(5, 12))
        assert (free != assign(counts, current, overlap=2, max_cluster_size=12)).nnz == 0


@pytest.mark.parametrize("caps", [[5, 5], [1.5, 2, 3], [-1, 5, 5]])
def test_caps_are_one_whole_number_for_each_cluster(caps):
    with pytest.raises(ConfigError, match="or one for each of the 3 clusters"):
        assign(sp.csr_array((4, 3)), CURRENT, max_cluster_size=caps)
    with pytest.raises(ConfigError, match="room for 3 labels in 3 clusters, but there are 4"):
        assign(sp.csr_array((4, 3)), CURRENT, max_cluster_size=[1, 1, 1])


def test_labels_without_counts_stay_and_are_not_displaced():
    counts = sparse([[0, 0], [0, 0], [9, 0], [9, 1]])
    current = partition([0, 0, 1, 1], 2)
    found = assign(counts, current, overlap=1, max_cluster_size=2)
    assert found.toarray().tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]


def test_copies_of_labels_without_counts_stay_while_there_is_room():
    current = sparse([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    counts = sparse([[0, 0, 0], [0, 5, 0], [0, 3, 1]])
    roomy = assign(counts, current, overlap=2, max_cluster_size=3)
    assert roomy.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 1, 1]]
    tight = assign(counts, current, overlap=2, max_cluster_size=2)
    assert tight.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    alone = assign(counts, current, overlap=1, max_cluster_size=3)
    assert alone[[0]].toarray().tolist() == [[1, 0, 0]]


def test_first_copies_come_before_second_ones():
    # Labels 0 and 1 would fill cluster 0 twice over; labels 2 and 3 have nowhere else to go.
    counts = sparse([[9, 10, 0], [9, 0, 10], [1, 0, 0], [1, 0, 0]])
    current = partition([1, 2, 0, 0], 3)
    found = assign(counts, current, overlap=2, max_cluster_size=2)
    assert found.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0]]


def test_clusters_larger_than_the_cap_give_labels_to_the_nearest_with_room():
    current = partition([1] * 6, 4)
    found = assign(sp.csr_array((6, 4)), current, overlap=1, max_cluster_size=2)
    assert_valid(found, overlap=1, cap=2)
    assert found.indices.tolist() == [1, 1, 0, 0, 2, 2]


def test_labels_without_counts_are_the_last_to_leave_a_cluster_that_is_too_large():
    counts = sparse([[0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0]])
    home = capped_module.homes(counts, partition([1, 1, 1, 1], 3), np.full(3, 2))
    assert home.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("overlap", [1, 2])
def test_is_worth_at_least_staying_even_when_cut_short(monkeypatch, overlap):
    monkeypatch.setattr(capped_module, "MIN_PATIENCE", 1)
    monkeypatch.setattr(capped_module, "PATIENCE", 1)
    monkeypatch.setattr(capped_module, "MAX_DOUBLINGS", 1)
    rng = np.random.default_rng(5)
    for _ in range(20):
        counts = sparse(rng.integers(0, 20, (24, 4)))
        current = partition(np.argsort(rng.random(24)) % 4, 4)
        found = assign(counts, current, overlap=overlap, max_cluster_size=6)
        assert_valid(found, overlap=overlap, cap=6)
        assert value(counts, found) >= value(counts, current)


def test_a_second_round_starts_from_overlapping_clusters():
    Y, matches, current = matched_problem(np.random.default_rng(2), KINDS[1])
    counts = match_counts(Y, matches)
    cap = default_cluster_cap(*counts.shape, 2)
    once = assign(counts, current, overlap=2, max_cluster_size=cap)
    twice = assign(counts, once, overlap=2, max_cluster_size=cap)
    assert_valid(twice, overlap=2, cap=cap)
    assert value(counts, twice) >= 0.99 * value(counts, once)
    assert tp_bound(Y, matches, once) >= tp_bound(Y, matches, current)


def test_same_input_same_result():
    Y, matches, current = matched_problem(np.random.default_rng(4), KINDS[2])
    counts = match_counts(Y, matches)
    cap = -(-Y.shape[1] // matches.shape[1])
    first, second = (assign(counts, current, overlap=2, max_cluster_size=cap) for _ in range(2))
    assert (first != second).nnz == 0


def test_one_cluster_takes_every_label():
    found = assign(sparse([[2], [0]]), sparse([[1], [1]]), overlap=1, max_cluster_size=2)
    assert found.toarray().tolist() == [[1], [1]]


def test_input_is_left_as_it_was():
    counts, current = sparse([[3, 9, 5], [4, 4, 4], [0, 0, 2], [7, 8, 8]]), CURRENT.copy()
    before = counts.copy()
    for cap in (None, 2):
        assign(counts, current, overlap=2, max_cluster_size=cap)
    assert (counts != before).nnz == 0
    assert (current != CURRENT).nnz == 0


@pytest.mark.parametrize("cap", [None, 3, 4])
def test_each_label_may_have_a_limit_of_its_own(cap):
    counts = sparse([[3, 9, 5], [4, 4, 4], [0, 0, 2], [7, 8, 9]])
    found = assign(counts, CURRENT, overlap=np.array([1, 3, 2, 2]), max_cluster_size=cap)
    assert found.toarray().tolist() == [[0, 1, 0], [1, 1, 1], [0, 0, 1], [0, 1, 1]]


# ---------------------------------------------------------------------- the default cap


def test_the_default_cap_is_a_multiple_of_the_mean_size_rounded_up():
    assert default_cluster_cap(1000, 10, 2) == CLUSTER_SLACK * 200
    assert default_cluster_cap(7, 7, 1) == np.ceil(CLUSTER_SLACK)


@pytest.mark.parametrize(("n_labels", "n_leaves"), [(1, 1), (3, 8), (101, 4), (40_623, 512)])
def test_the_default_cap_always_has_room(n_labels, n_leaves):
    assert default_cluster_cap(n_labels, n_leaves, 1) * n_leaves >= n_labels


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize("overlap", [0, -1, 1.5, True, "2"])
def test_an_overlap_that_is_no_positive_number_is_refused(overlap):
    with pytest.raises(ConfigError, match="overlap must be a whole number >= 1"):
        assign(sp.csr_array((4, 3)), CURRENT, overlap=overlap)


@pytest.mark.parametrize("overlap", [[1, 2], [1.0, 1, 1, 1], [[1, 1, 1, 1]]])
def test_limits_that_are_not_one_whole_number_per_label_are_refused(overlap):
    with pytest.raises(ConfigError, match="or one for each of the 4 labels, got shape"):
        assign(sp.csr_array((4, 3)), CURRENT, overlap=np.array(overlap))


@pytest.mark.parametrize("wrong", [0, 4])
def test_every_limit_is_checked(wrong):
    with pytest.raises(ConfigError, match=f"overlap must be .* got {wrong}"):
        assign(sp.csr_array((4, 3)), CURRENT, overlap=np.array([1, 2, wrong, 1]))


def test_an_overlap_above_the_number_of_clusters_is_refused():
    with pytest.raises(ConfigError, match=r"at most the number of clusters \(3\), got 4"):
        assign(sp.csr_array((4, 3)), CURRENT, overlap=4)
    with pytest.raises(ConfigError, match=r"at most the number of clusters \(3\), got 4"):
        default_cluster_cap(10, 3, 4)


def test_a_cap_without_room_for_all_labels_is_refused_with_numbers():
    with pytest.raises(ConfigError, match="room for 3 labels in 3 clusters, but there are 4: rais"):
        assign(sp.csr_array((4, 3)), CURRENT, max_cluster_size=1)
    with pytest.raises(ConfigError, match="max_cluster_size must be a whole number >= 1, got 0"):
        assign(sp.csr_array((4, 3)), CURRENT, max_cluster_size=0)


def test_matrices_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match=r"current must be .* = \(5, 3\), got \(4, 3\)"):
        assign(sp.csr_array((5, 3)), CURRENT)
    with pytest.raises(DataError, match="1 labels of current are in no cluster.*label 1"):
        assign(sp.csr_array((2, 3)), sparse([[1, 0, 0], [0, 0, 0]]))
    with pytest.raises(DataError, match="counts must hold finite numbers >= 0"):
        assign(sparse([[np.nan, 1, 1]]), sparse([[1, 0, 0]]))
