"""Imputing again with models that did not see the instance."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from multitudes import XRLinear
from multitudes.groups import spread
from multitudes.groups.candidates import checked_candidates
from multitudes.groups.imputation import Rule
from multitudes.groups.rounds import (
    Rounds,
    Step,
    cross_fit,
    group_folds,
    pair_scores,
    schedule,
    take,
)
from multitudes.types import Predictions
from tests.groups.problems import words_of_labels


class Spy(BaseEstimator):
    """Notes which instances (the first feature is their number) taught it and were asked about."""

    seen: list = []

    def fit(self, X, Y):
        self.taught_ = [int(x[0]) for x in X]
        return self

    def predict(self, X, *, top_k=5):
        raise NotImplementedError

    def score_pairs(self, X, pairs):
        Spy.seen.append((self.taught_, [int(x[0]) for x in X]))
        data = np.repeat([x[0] for x in X], np.diff(pairs.indptr)).astype(np.float32)
        return sp.csr_array((data, pairs.indices, pairs.indptr), shape=pairs.shape)


@pytest.fixture
def grouped():
    """Six groups of two, instance 0 also in the last group; instance 12 is in none."""
    groups = np.zeros((13, 6))
    groups[np.arange(12), np.arange(12) // 2] = 1
    groups[0, 5] = 1
    return sp.csr_array(groups), sp.csr_array(np.ones((6, 2)))


@pytest.mark.parametrize("n_folds", [2, 3])
def test_groups_stay_together_and_folds_are_even(grouped, n_folds):
    groups, group_labels = grouped
    folds = group_folds(checked_candidates(groups, group_labels), n_folds, random_state=0)
    assert (folds[0:12:2] == folds[1:12:2]).all()
    assert folds[12] == -1
    assert np.bincount(folds[:12]).tolist() == [12 // n_folds] * n_folds


def test_folds_follow_the_seed(grouped):
    found = checked_candidates(*grouped)
    draws = {tuple(group_folds(found, 2, random_state=random_state)) for random_state in range(5)}
    assert len(draws) > 1
    np.testing.assert_array_equal(
        group_folds(found, 2, random_state=3), group_folds(found, 2, random_state=3)
    )


def test_nobody_is_scored_by_a_model_that_saw_him(grouped):
    groups, group_labels = grouped
    found = checked_candidates(groups, group_labels)
    Spy.seen = []
    folds = group_folds(found, 3, random_state=0)
    X = np.arange(13, dtype=np.float32)[:, None]
    pairs = spread(groups, group_labels)
    scores = cross_fit(Spy(), X, pairs, pairs, folds)
    assert len(Spy.seen) == 3
    for taught, asked in Spy.seen:
        assert sorted(taught + asked) == list(range(12))
    assert sorted(i for _, asked in Spy.seen for i in asked) == list(range(12))
    np.testing.assert_array_equal(scores, np.repeat(np.arange(12), 2))


def test_labels_that_a_model_never_saw_have_no_score(grouped):
    """Label 1 belongs to instance 0 alone, which is scored by a model without it."""
    groups, group_labels = grouped
    found = checked_candidates(groups, group_labels)
    folds = group_folds(found, 2, random_state=0)
    Y = sp.csr_array(np.array([[1.0, 1.0]] + [[1.0, 0.0]] * 12))
    pairs = spread(groups, group_labels)
    X = np.arange(13, dtype=np.float32)[:, None]
    scores = sp.csr_array(
        (cross_fit(Spy(), X, Y, pairs, folds), pairs.indices, pairs.indptr), shape=pairs.shape
    )
    unseen = np.isnan(scores.toarray()[:12])
    assert not unseen[:, 0].any()
    np.testing.assert_array_equal(unseen[:, 1], folds[:12] == folds[0])


class Moody(Spy):
    """Prefers the even members of a group in its first round, and the odd ones, less, later."""

    rounds_asked = 0

    def score_pairs(self, X, pairs):
        strength = 1.0 if Moody.rounds_asked == 0 else Moody.strength
        favored = np.array([(int(x[0]) % 2 == 0) == (Moody.rounds_asked == 0) for x in X])
        data = np.repeat(favored * strength, np.diff(pairs.indptr)).astype(np.float32)
        return sp.csr_array((data, pairs.indices, pairs.indptr), shape=pairs.shape)


@pytest.mark.parametrize(("strength", "winners"), [(0.6, "odd"), (0.4, "even")])
def test_scores_of_a_round_count_half_in_the_next(grouped, strength, winners):
    """After two rounds an even member has 1/2 and an odd one `strength`, over the same weight."""
    groups, group_labels = grouped
    found = checked_candidates(groups, group_labels)
    pairs = spread(groups, group_labels)
    rule = Rule(margin=0.0, use_counts=False)
    rounds = Rounds(found, lambda block: np.zeros(block.n_places, np.float32), rule, pairs)
    folds = group_folds(found, 2, random_state=0)
    X = np.arange(13, dtype=np.float32)[:, None]
    Moody.strength = strength
    for number in range(2):
        Moody.rounds_asked = number
        imputed = rounds.impute(Moody(), X, pairs, folds)
    chosen = np.flatnonzero(np.diff(imputed.Y.indptr))
    assert {int(i) % 2 for i in chosen} == {winners == "odd"}
    assert len(chosen) == 6 - (winners == "even")  # 0 is in two groups


def test_a_fold_without_any_label_is_left_unscored(grouped):
    groups, group_labels = grouped
    folds = group_folds(checked_candidates(groups, group_labels), 2, random_state=0)
    Y = sp.csr_array((folds[:, None] == 0) * np.ones((13, 2)))
    pairs = spread(groups, group_labels)
    X = np.arange(13, dtype=np.float32)[:, None]
    scores = cross_fit(Spy(), X, Y, pairs, folds)
    rows = np.repeat(np.arange(13), np.diff(pairs.indptr))
    np.testing.assert_array_equal(np.isnan(scores), folds[rows] == 0)


class Lister:
    """A model that only predicts: instance i (its first feature) prefers label i."""

    def predict(self, X, *, top_k=5):
        labels = np.array([[int(x[0]), int(x[0]) + 1] for x in X], np.int32)
        return Predictions(labels, np.tile(np.float32([-1, -3]), (len(X), 1)), 4)


def test_a_model_that_only_predicts():
    """What it does not list scores as low as the worst that it lists anywhere, or lower."""
    pairs = sp.csr_array(np.array([[1, 1, 0, 1], [1, 0, 1, 0]]))
    found = pair_scores(Lister(), np.array([[0.0], [1.0]]), pairs)
    np.testing.assert_array_equal(found.indices, pairs.indices)
    scores = found.toarray()
    assert scores[0, 0] > scores[0, 1] > scores[0, 3]
    assert scores[1, 2] == scores[0, 1]
    assert scores[1, 0] == scores[0, 3]


def test_a_model_with_scores_of_pairs_is_asked_for_them():
    X, Y, _, _ = words_of_labels()
    model = XRLinear(branching=4, max_leaf_size=5).fit(X, Y)
    np.testing.assert_array_equal(pair_scores(model, X, Y).data, model.score_pairs(X, Y).data)


def test_taking_instances_of_matrices_and_of_texts():
    rows = np.array([2, 0])
    assert take(["a", "b", "c"], rows) == ["c", "a"]
    assert take(np.arange(3), rows).tolist() == [2, 0]
    assert take(sp.csr_array(np.eye(3)), rows).toarray().tolist() == [[0, 0, 1], [1, 0, 0]]


# --- narrowing


def test_narrowing_leaves_powers_of_the_group_size(grouped):
    """Groups of 16: 8, 4, 2, 1 and 1 members get the label, or as many as a list says."""
    groups = sp.csr_array(np.kron(np.eye(2), np.ones((16, 1))))
    for use_counts, least in ((False, 1), (True, 3)):
        labels = sp.csr_array(np.full((2, 1), 3.0))
        found = checked_candidates(groups, labels)
        rounds = Rounds(found, lambda block: np.zeros(block.n_places, np.float32),
                        Rule(use_counts=use_counts), spread(groups, labels))  # fmt: skip
        folds = group_folds(found, 2, random_state=0)
        X = np.arange(32, dtype=np.float32)[:, None]
        steps = schedule("narrow", found, Spy())
        given = [
            np.diff(rounds.impute(Spy(), X, spread(groups, labels), folds, step).Y.tocsc().indptr)
            for step in steps
        ]
        assert [int(n[0]) for n in given] == [2 * max(n, least) for n in (8, 4, 2, 1, 1)]


def test_all_who_are_likely_get_a_label_that_is_a_set(grouped):
    """Instance i scores i - 9: members 7 to 11 are above -2.5, in groups of 4."""
    groups = sp.csr_array(np.kron(np.eye(3), np.ones((4, 1))))
    labels = sp.csr_array(np.ones((3, 1)))
    found = checked_candidates(groups, labels)
    rounds = Rounds(found, lambda block: np.zeros(block.n_places, np.float32), Rule(),
                    spread(groups, labels))  # fmt: skip
    folds = group_folds(found, 2, random_state=0)
    X = np.arange(-9, 3, dtype=np.float32)[:, None]
    given = rounds.impute(Spy(), X, spread(groups, labels), folds, Step(0.0, -2.5)).Y
    assert np.flatnonzero(np.diff(given.indptr)).tolist() == [3, 7, 8, 9, 10, 11]
