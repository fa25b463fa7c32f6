"""Weights of members: bins of labels by frequency, and the search on held-out instances."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.fusion.fusion import checked_label_counts
from multitudes.fusion.lists import checked_lists
from multitudes.fusion.weights import (
    FACTORS,
    GAIN,
    LISTED,
    MAX_BINS,
    PAIRS_OF_BIN,
    SEARCHED,
    Weights,
    frequency_edges,
    searched_weights,
)
from multitudes.types import Predictions

HALVES = np.array([0.5, 0.5], np.float32)


def test_labels_lie_in_bins_by_their_uses():
    weights = Weights.of_members(
        [1, 2], 4, np.array([0, 5, 19, 20], np.float32), np.array([5, 20], np.float32)
    )
    assert weights.bin_of.tolist() == [0, 1, 1, 2]  # an edge belongs to what is above it
    assert weights.table.tolist() == [[1, 2]] * 3
    assert weights.base.tolist() == [0, 0, 0]
    one_bin = Weights.of_members([1, 2], 4)
    assert (one_bin.bin_of.tolist(), one_bin.table.tolist()) == ([0] * 4, [[1, 2]])


def test_members_that_know_a_label_share_its_weight():
    knows = np.array([[True, True], [True, False], [False, False], [False, True]])
    weights = Weights.of_knowing(np.array([3, 1], np.float32), knows)
    assert weights.table[weights.bin_of].tolist() == [[0.75, 0.25], [1, 0], [0.75, 0.25], [0, 1]]
    assert not weights.base.any()


def test_more_patterns_of_knowledge_than_there_are_bins_make_one():
    everything = np.array([[bool(n >> bit & 1) for bit in range(8)] for n in range(256)])
    weights = Weights.of_knowing(np.ones(8, np.float32), everything[: MAX_BINS + 1])
    assert weights.table.shape == (1, 8)
    weights = Weights.of_knowing(np.ones(8, np.float32), everything[:MAX_BINS])
    assert weights.table.shape == (MAX_BINS, 8)
    assert weights.table[weights.bin_of[0b101]].tolist() == [0.5, 0, 0.5, 0, 0, 0, 0, 0]


def test_new_labels_lie_where_their_uses_or_most_labels_do():
    edges = np.array([10], np.float32)
    weights = Weights.of_members([1, 1], 3, np.array([50, 5, 5], np.float32), edges)
    resized = weights.resized(np.array([2, 0]), np.array([5, 50, 9, 10], np.float32))
    assert resized.bin_of.tolist() == [0, 1, 0, 1]
    knows = np.array([[True, False], [True, True], [True, True]])
    of_knowing = Weights.of_knowing(HALVES, knows)
    one, both = of_knowing.bin_of[:2]
    resized = of_knowing.resized(np.array([0, 2]), np.zeros(4, np.float32))
    assert resized.bin_of.tolist() == [one, both, both, both]


def test_weights_are_scaled_by_the_largest_sum_of_a_bin():
    edges = np.array([10], np.float32)
    table = np.array([[1, 1], [1, 3]], np.float32)
    weights = Weights(table, np.zeros(3, np.uint8), np.array([2, 4], np.float32), edges)
    scaled = weights.scaled()
    assert scaled.table.tolist() == [[0.25, 0.25], [0.25, 0.75]]
    assert scaled.base.tolist() == [0.5, 1]
    nothing = Weights.of_members([0, 0], 3).scaled()
    assert nothing.table.tolist() == [[0, 0]]
    started = weights.started(np.array([-1, -2], np.float32))
    assert started.base.tolist() == [-3, -7]
    assert started.table.tolist() == table.tolist()


def uses(*n_of_label):
    """A truth in which label i is used so often, each time by another instance."""
    columns = np.repeat(np.arange(len(n_of_label)), n_of_label)
    rows = np.arange(len(columns))
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(rows), len(n_of_label)))


def test_bins_need_uses_enough():
    counts = np.array([1, 2, 3], np.float32)
    few, enough = (uses(0, n, PAIRS_OF_BIN) for n in (PAIRS_OF_BIN - 1, PAIRS_OF_BIN))
    assert frequency_edges(counts, few).tolist() == []
    assert frequency_edges(counts, enough).tolist() == [2.5]
    assert frequency_edges(None, enough).tolist() == []
    enough.data[0] = 0  # not a use
    assert frequency_edges(counts, enough).tolist() == []
    many = uses(*[PAIRS_OF_BIN] * 12)
    edges = frequency_edges(np.arange(12, dtype=np.float32), many)
    assert len(edges) == 3  # four bins at most
    assert edges == pytest.approx([2.75, 5.5, 8.25], abs=0.3)


def test_no_bin_is_empty_because_labels_are_used_alike():
    truth = uses(PAIRS_OF_BIN, PAIRS_OF_BIN, PAIRS_OF_BIN)
    assert frequency_edges(np.array([7, 7, 7], np.float32), truth).tolist() == []
    counts = np.array([7, 7, 9], np.float32)
    edges = frequency_edges(counts, truth)
    bins = Weights.of_members([1], 3, counts, edges).bin_of
    assert bins.tolist() == [0, 0, 1]


def guesses(n, width=3, n_labels=50):
    """(lists of two members that say the same, a truth of label 0 alone)."""
    labels = np.tile(np.arange(width), (n, 1))
    one = Predictions(labels, -labels.astype(np.float32), n_labels)
    truth = sp.csr_array((np.ones(n), (np.arange(n), np.zeros(n, int))), shape=(n, n_labels))
    return checked_lists([one, one]), truth


def rank_of_right(n, ranks):
    """Lists of five labels of n instances, label 0 in the given places of the first ones."""
    labels = np.tile(np.arange(5), (n, 1))
    for row, rank in enumerate(ranks):
        labels[row] = np.roll(np.arange(5), rank)
    return Predictions(labels, np.tile(-np.arange(5.0), (n, 1)), 50)


def test_weights_are_tried_on_some_instances_and_the_best_of_their_lists():
    lists, truth = guesses(SEARCHED + 1000, width=LISTED + 5)
    seen = []

    def fused(some, weights):
        seen.append((len(some), some.widths))
        return rank_of_right(len(some), [])

    found = searched_weights(lists, truth, Weights.of_members([1, 1], 50), fused)
    assert found.table.tolist() == [[1, 1]]  # nothing is better
    assert set(map(str, seen)) == {str((SEARCHED, [LISTED, LISTED]))}
    assert len(seen) == 1 + 2 * len(FACTORS)  # one pass without a change is the last


def test_a_weight_is_turned_until_nothing_gets_better():
    lists, truth = guesses(20)

    def fused(some, weights):  # right where the second weighs four times the first
        ratio = weights.table[0, 1] / max(weights.table[0, 0], 1e-9)
        return rank_of_right(len(some), [min(4, round(abs(ratio - 4)))] * 20)

    found = searched_weights(lists, truth, Weights.of_members([1, 1], 50), fused).table
    assert found[0, 1] / found[0, 0] == pytest.approx(4, abs=0.5)


def test_a_gain_that_may_be_chance_changes_nothing():
    def fused(some, weights):  # one instance gains a rank where the first member has lost weight
        return rank_of_right(len(some), [3 if weights.table[0, 0] < 1 else 4])

    gain = 1 / np.log2(5) - 1 / np.log2(6)
    for n in (100, 1000):
        lists, truth = guesses(n)
        table = searched_weights(lists, truth, Weights.of_members([1, 1], 50), fused).table
        assert (table[0, 0] < 1) == (gain / n > GAIN)
        assert table[0, 1] == 1


def test_each_bin_is_searched_for_itself_and_none_loses_all_members():
    lists, truth = guesses(20)
    counts, edges = np.arange(50, dtype=np.float32), np.array([10, 20], np.float32)
    seen = []

    def fused(some, weights):  # the middle bin wants the second member alone
        seen.append(weights.table.copy())
        others_keep, (first, second) = weights.table[[0, 2], 0].all(), weights.table[1]
        rank = 4 if not others_keep or not second else 2 if first else 0
        return rank_of_right(len(some), [rank] * 20)

    start = Weights.of_members([1, 0], 50, counts, edges)
    found = searched_weights(lists, truth, start, fused)
    assert found.table[[0, 2], 0].tolist() == [1, 1]
    assert found.table[1, 0] == 0
    assert found.table[1, 1] > 0  # what is 0 may come back
    assert all(table.any(axis=1).all() for table in seen)
    np.testing.assert_array_equal(found.bin_of, start.bin_of)


@pytest.mark.parametrize(
    "counts", [[1, 2], [[1, 2, 3]], ["a", "b", "c"], [True] * 3, [1, np.nan, 1], [1, -1, 1],
               [1, np.inf, 1]],
)  # fmt: skip
def test_uses_of_labels_are_finite_numbers(counts):
    with pytest.raises(DataError, match="label_counts must be"):
        checked_label_counts(counts, 3)
    assert checked_label_counts([0, 2, 1], 3).dtype == np.float32
    assert checked_label_counts(None, 3) is None
