"""Lists made one: by rank, by log-odds, and as learned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier

from multitudes import store
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.fusion import (
    CalibratedFusion,
    LearnedFusion,
    RankFusion,
    TreesConfig,
    fuse_predictions,
    learned,
)
from multitudes.fusion.trees import _rounded_down, grown_trees
from multitudes.metrics import ndcg_at_k
from multitudes.types import Predictions
from tests.fusion.problems import COUNTS, N_LABELS, member, truth, two_members
from tests.kernels.twins.fusion import tree_sum

FUSIONS = [RankFusion, CalibratedFusion, LearnedFusion]


def lists(*rows):
    return Predictions.from_lists([list(row) for row in rows], None, 9)


def test_reciprocal_ranks_by_hand():
    found = fuse_predictions([lists([3, 1], [5]), lists([1, 2], [])], constant=3)
    # Of ranks 1 and 2: 4/4 and 4/5, each counting for half.
    assert found.labels[0].tolist() == [1, 3]
    assert found.scores[0].tolist() == pytest.approx([(4 / 5 + 4 / 4) / 2, 1 / 2])
    assert found.labels[1].tolist() == [5, -1]
    heavier = fuse_predictions([lists([3]), lists([1])], weights=[3, 1], top_k=5)
    assert heavier.labels.tolist() == [[3, 1, -1, -1, -1]]
    assert heavier.scores[0, :2].tolist() == pytest.approx([3 / 4, 1 / 4])


def test_ties_go_to_the_smaller_label():
    assert fuse_predictions([lists([7]), lists([2])], top_k=2).labels.tolist() == [[2, 7]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "there are no predictions"),
        (lists([1]), "must be a list, one Predictions for each member"),
        ([lists([1]), "x"], r"predictions\[1\] must be Predictions"),
        ([lists([1]), lists([1], [2])], "of the same instances and labels"),
    ],
)
def test_what_cannot_be_fused(given, message):
    with pytest.raises(DataError, match=message):
        fuse_predictions(given)


@pytest.mark.parametrize("weights", [[1], "ab", [[1, 2]], [0, 0], [-1, 1], [np.nan, 1]])
def test_weights_that_make_no_sense(weights):
    with pytest.raises((ConfigError, DataError), match="weights"):
        fuse_predictions([lists([1]), lists([2])], weights=weights)
    with pytest.raises(ConfigError, match="constant must be a number"):
        fuse_predictions([lists([1])], constant=-1)


def worth(found, Y):
    return ndcg_at_k(found, Y, k=2)


@pytest.mark.parametrize("make", FUSIONS)
def test_rare_labels_lean_on_the_member_that_knows_them(make):
    learned_on, Y = two_members(600)
    settings = {} if make is LearnedFusion else {"by_frequency": True}
    fusion = make(**settings).fit(learned_on, Y, label_counts=COUNTS)
    others, Y_other = two_members(400, seed=1)
    found = fusion.fuse(others, top_k=5)
    assert found.shape == (400, 5)
    plain = worth(fuse_predictions(others), Y_other)
    assert worth(found, Y_other) > plain + 0.02
    assert worth(found, Y_other) > max(worth(one, Y_other) for one in others) + 0.05


@pytest.mark.parametrize("make", [RankFusion, CalibratedFusion])
def test_a_member_that_guesses_loses_its_weight(make):
    rng = np.random.default_rng(2)
    Y = truth(rng, 500)
    both = [member(rng, Y, 0.7), member(rng, Y, 0.0)]
    table = make(by_frequency=False).fit(both, Y).weights_.table
    assert table.shape == (1, 2)
    assert table[0, 1] < 0.5 * table[0, 0]


@pytest.mark.parametrize("make", [CalibratedFusion, LearnedFusion])
def test_scores_are_probabilities(make):
    learned_on, Y = two_members(1500)
    others, Y_other = two_members(1500, seed=1)
    found = make().fit(learned_on, Y, label_counts=COUNTS).fuse(others, top_k=10)
    is_true = Y_other.toarray()[np.arange(1500)[:, None], found.labels]
    assert ((found.scores > 0) & (found.scores < 1)).all()
    sure = found.scores > 0.5
    # Log-odds of calibrated fusion are a mean, and so too careful; those learned are not.
    assert is_true[sure].mean() > found.scores[sure].mean() - 0.05


@pytest.mark.parametrize("make", FUSIONS)
def test_what_members_add_makes_the_score(make):
    learned_on, Y = two_members(300)
    fusion = make().fit(learned_on, Y, label_counts=COUNTS)
    one = [part[:1] for part in learned_on]
    found = fusion.fuse(one, top_k=20)
    label, score = int(found.labels[0, 0]), float(found.scores[0, 0])
    shares = fusion.shares(one, label)
    assert len(shares) == 2
    sums = {RankFusion: score, CalibratedFusion: logit(score)}
    assert make is LearnedFusion or sum(shares) == pytest.approx(sums[make], abs=1e-4)
    assert make is not LearnedFusion or max(shares) > 0


@pytest.mark.parametrize("make", FUSIONS)
@pytest.mark.parametrize("label", [1, 7, 39])
def test_what_a_member_adds_is_missing_where_it_lists_nothing(make, label):
    learned_on, Y = two_members(300)
    fusion = make().fit(learned_on, Y, label_counts=COUNTS)
    one = [part[3:4] for part in learned_on]
    for member_with_it in (0, 1):  # the other has never heard of the label
        both = [without(part, label) for part in one]
        both[member_with_it] = first_is(one[member_with_it], label)
        shares = fusion.shares(both, label)
        whole = score_of(fusion, both, label)
        other = list(both)
        other[member_with_it] = nothing(one[member_with_it])
        if make is RankFusion:
            weights = fusion.weights_.table[fusion.weights_.bin_of[label]]
            assert shares[1 - member_with_it] == 0
            assert shares[member_with_it] == pytest.approx(weights[member_with_it])
            assert sum(shares) == pytest.approx(whole)
        elif make is CalibratedFusion:
            floor = fusion.floors_[1 - member_with_it]
            weights = fusion.weights_.table[fusion.weights_.bin_of[label]]
            assert shares[1 - member_with_it] == pytest.approx(
                weights[1 - member_with_it] * floor, rel=1e-5
            )
            assert sum(shares) == pytest.approx(logit(whole), abs=1e-4)
        else:
            left = fusion.bias_  # nobody lists it
            assert shares[member_with_it] == pytest.approx(logit(whole) - left, abs=1e-3)
            silent = list(both)
            silent[1 - member_with_it] = nothing(one[0])
            expected = logit(whole) - logit(score_of(fusion, silent, label))
            assert shares[1 - member_with_it] == pytest.approx(expected, abs=1e-3)


def score_of(fusion, lists_of_one, label):
    found = fusion.fuse(lists_of_one, top_k=N_LABELS)
    return float(found.scores[0, found.labels[0] == label][0])


def nothing(one):
    return Predictions(np.full_like(one.labels, -1), np.full_like(one.scores, -np.inf), N_LABELS)


def without(one, label):
    kept = one.labels[0] != label
    return Predictions(one.labels[:, kept][:, :9], one.scores[:, kept][:, :9], N_LABELS)


def first_is(one, label):
    rest = without(one, label)
    labels = np.append([[label]], rest.labels, axis=1)
    return Predictions(labels, np.append(rest.scores[:, :1] + 1, rest.scores, axis=1), N_LABELS)


@pytest.mark.parametrize("make", FUSIONS)
def test_stored_and_built_again(make, tmp_path):
    learned_on, Y = two_members(200)
    texts, names = ["some label 3"] * 200, [f"label {number}" for number in range(N_LABELS)]
    settings = {
        RankFusion: {"constant": 2.5, "by_frequency": False},
        CalibratedFusion: {"method": "isotonic", "by_frequency": True},
        LearnedFusion: {"candidates": 13, "random_state": 5, "trees": TreesConfig(n_trees=7)},
    }[make]
    fusion = make(**settings)
    fusion.fit(learned_on, Y, label_counts=COUNTS, texts=texts, label_texts=names)
    store.save(fusion, tmp_path / "fusion")
    again = store.load(tmp_path / "fusion")
    assert again == fusion
    assert (again.n_members_, again.n_labels_) == (2, N_LABELS)
    for top_k in (3, 30):
        expected = fusion.fuse(learned_on, top_k=top_k, texts=texts)
        found = again.fuse(learned_on, top_k=top_k, texts=texts)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("make", FUSIONS)
def test_batches_are_single_rows_whatever_the_threads(make):
    learned_on, Y = two_members(150)
    fusion = make().fit(learned_on, Y)
    many = [
        Predictions(np.tile(one.labels, (20, 1)), np.tile(one.scores, (20, 1)), N_LABELS)
        for one in learned_on
    ]
    found = fusion.fuse(many, top_k=4, n_jobs=2)
    np.testing.assert_array_equal(found.scores, fusion.fuse(many, top_k=4, n_jobs=1).scores)
    single = fusion.fuse([one[2999:] for one in many], top_k=4)
    np.testing.assert_array_equal(found[2999:].labels, single.labels)
    np.testing.assert_array_equal(found[2999:].scores, single.scores)


def test_the_name_of_a_label_in_the_text_counts():
    rng = np.random.default_rng(0)
    Y = truth(rng, 600)
    names = [f"topic{number:02d} matter" for number in range(N_LABELS)]
    said = [" and ".join(names[label] for label in Y[[row]].indices) for row in range(600)]
    guess = [member(rng, Y, 0.15), member(rng, Y, 0.15)]
    half = [one[:300] for one in guess]
    blind = LearnedFusion().fit(half, Y[:300])
    reading = LearnedFusion().fit(half, Y[:300], texts=said[:300], label_texts=names)
    other = [one[300:] for one in guess]
    seen = worth(reading.fuse(other, texts=said[300:]), Y[300:])
    assert seen > worth(blind.fuse(other), Y[300:]) + 0.1
    with pytest.raises(DataError, match="was fitted with texts"):
        reading.fuse(other)
    with pytest.raises(DataError, match="one for each of 300 instances"):
        reading.fuse(other, texts=said)


def test_trees_say_what_those_of_scikit_learn_say():
    rng, config = np.random.default_rng(0), TreesConfig(n_trees=20, min_leaf=5)
    about = rng.normal(size=(500, 6)).astype(np.float32)
    about[rng.random(about.shape) < 0.2] = np.nan
    about[:, 3] = np.nan  # nothing is known: scikit-learn would fail
    is_true = np.nan_to_num(about[:, 0]) + np.nan_to_num(about[:, 5], nan=2) > 1
    trees, bias = grown_trees(about, is_true, config, seed=0)
    known = np.array([0, 1, 2, 4, 5])
    model = HistGradientBoostingClassifier(
        max_iter=20, max_leaf_nodes=config.max_leaves, learning_rate=config.learning_rate,
        min_samples_leaf=5, l2_regularization=config.l2, early_stopping=False, random_state=0,
    ).fit(about[:, known], is_true)  # fmt: skip
    ours = [bias + tree_sum(trees, row) for row in about[:100]]
    np.testing.assert_allclose(ours, model.decision_function(about[:100, known]), rtol=1e-4)


@pytest.mark.parametrize("make", FUSIONS)
def test_refusals(make):
    learned_on, Y = two_members(60)
    with pytest.raises(NotFittedError, match="call fit first"):
        make().fuse(learned_on)
    fusion = make().fit(learned_on, Y)
    with pytest.raises(DataError, match="of 2 members and 40 labels, got predictions of 1"):
        fusion.fuse(learned_on[:1])
    with pytest.raises(DataError, match="they must be the same"):
        make().fit(learned_on, Y[:-1])
    with pytest.raises(DataError, match="label_counts must be"):
        make().fit(learned_on, Y, label_counts=[1, 2])
    with pytest.raises(DataError, match="they must be the same"):
        make().fit(learned_on, Y[:, :-1])
    with pytest.raises(DataError, match="nothing to learn from"):
        make().fit([Predictions(np.full((2, 3), -1), np.full((2, 3), -np.inf), 5)], Y[:2, :5])
    with pytest.raises(DataError, match="nothing to learn from"):
        make().fit([one[:0] for one in learned_on], Y[:0])
    for number in (np.nan, np.inf):
        scores = learned_on[0].scores.copy()
        scores[3, 0] = number
        wrong = [learned_on[1], Predictions(learned_on[0].labels, scores, N_LABELS)]
        with pytest.raises(DataError, match="instance 3, rank 1"):
            make().fit(wrong, Y)
        with pytest.raises(DataError, match="instance 3, rank 1"):
            fusion.fuse(wrong)
    assert fusion.fuse([learned_on[0].top(3), learned_on[1].top(4)]).top_k == 4
    with pytest.raises(ConfigError, match="top_k must be a whole number"):
        fusion.fuse(learned_on, top_k=0)


@pytest.mark.parametrize("make", [RankFusion, LearnedFusion])
def test_a_member_that_says_nothing_is_left_alone(make):
    learned_on, Y = two_members(60)
    found = make().fit([nothing(learned_on[0]), learned_on[1]], Y).fuse(learned_on, top_k=5)
    assert (found.labels >= 0).all()


def test_a_member_without_a_single_label_cannot_be_calibrated():
    (one, _), Y = two_members(40)
    silent = Predictions(np.full_like(one.labels, -1), one.scores, one.n_labels)
    with pytest.raises(DataError, match=r"the 2\. of 2 members lists no label"):
        CalibratedFusion().fit([one, silent], Y)


def test_ranks_count_from_a_constant_of_3_unless_told_otherwise():
    given = [lists([3, 1], [5]), lists([1, 2], [])]
    default, same, other = (
        fuse_predictions(given, **constant).scores
        for constant in ({}, {"constant": 3.0}, {"constant": 4.0})
    )
    np.testing.assert_array_equal(default, same)
    assert (default != other).any()


def test_what_is_set_where_nothing_is_said():
    rank, calibrated, ranker = RankFusion(), CalibratedFusion(), LearnedFusion()
    assert (rank.constant, rank.weights, rank.by_frequency) == (3.0, None, True)
    assert (calibrated.method, calibrated.weights) == ("temperature", None)
    assert calibrated.by_frequency is False
    assert (ranker.candidates, ranker.random_state) == (40, 0)
    assert ranker.trees == TreesConfig(
        n_trees=80, max_leaves=12, learning_rate=0.1, min_leaf=40, l2=5.0
    )


@pytest.mark.parametrize(
    ("name", "least", "too_small"),
    [("n_trees", 1, 0), ("max_leaves", 2, 1), ("min_leaf", 1, 0), ("l2", 0.0, -1.0),
     ("learning_rate", 1e-6, 0.0)],
)  # fmt: skip
def test_the_smallest_numbers_of_trees_that_make_sense(name, least, too_small):
    assert getattr(TreesConfig(**{name: least}), name) == least
    with pytest.raises(ConfigError, match=name):
        TreesConfig(**{name: too_small})


def test_constants_between_minus_one_and_a_million():
    for constant in (-0.999, 0, 1e6):
        fuse_predictions([lists([1])], constant=constant)
    for constant in (-1, 1.1e6, np.nan, "3", None):
        with pytest.raises(ConfigError, match="constant must be a number"):
            fuse_predictions([lists([1])], constant=constant)


def test_reciprocal_ranks_with_weights_that_were_given_need_no_search():
    learned_on, Y = two_members(500)
    for make in (RankFusion, CalibratedFusion):
        fusion = make(weights=[3, 1], by_frequency=True).fit(learned_on, Y, label_counts=COUNTS)
        table = fusion.weights_.table
        assert np.allclose(table, [0.75, 0.25])
        assert (len(table) == 1) == (make is RankFusion)
    untrained = RankFusion(weights=[3, 1]).untrained(2, N_LABELS)
    assert untrained.weights_.table.tolist() == [[0.75, 0.25]]
    given = fuse_predictions(learned_on, weights=[3, 1], top_k=7)
    for fusion in (untrained, RankFusion(weights=[3, 1]).fit(learned_on, Y)):
        found = fusion.fuse(learned_on, top_k=7)
        np.testing.assert_array_equal(found.labels, given.labels)
        np.testing.assert_array_equal(found.scores, given.scores)


def test_members_have_no_say_in_labels_that_they_do_not_know():
    knows = np.array([[True, False]] * 5 + [[True, True]] * 4)
    fusion = RankFusion().untrained(2, 9, knows=knows)
    found = fusion.fuse([lists([2, 7]), lists([8])], top_k=3)
    assert found.labels.tolist() == [[2, 8, 7]]
    assert found.scores[0].tolist() == pytest.approx([1, 1 / 2, 4 / 5 / 2])


def test_floors_by_hand():
    """Of what others list and a member does not, one in so many is right."""
    one = Predictions.from_lists([[0, 1], [2]], None, 5)
    other = Predictions.from_lists([[1, 3], [4]], None, 5)
    Y = np.array([[1, 0, 0, 1, 0], [0, 0, 0, 0, 1]])
    # Any lists 0, 1, 3 and 2, 4, of which 0, 3 and 4 are right: two more than the first lists, both
    # right; one right of the two more than the second has.
    floors = CalibratedFusion(weights=[1, 1]).fit([one, other], Y).floors_
    assert floors == pytest.approx(np.log([(2 + 1) / (0 + 1), (1 + 1) / (1 + 1)]))


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_log_odds_are_the_weighted_mean_of_the_members(method):
    learned_on, Y = two_members(400)
    fusion = CalibratedFusion(method=method, weights=[1, 3]).fit(learned_on, Y)
    found = fusion.fuse(learned_on, top_k=20)
    row = 5
    odds = [
        {int(label): float(value) for label, value in zip(
            one.labels[row],
            logit(np.clip(curve.apply(one[[row]]).scores[0].astype(float), 1e-6, 1 - 1e-6)),
            strict=True,
        )}
        for one, curve in zip(learned_on, fusion.calibrations_, strict=True)
    ]  # fmt: skip
    for label, score in zip(found.labels[row].tolist(), found.scores[row].tolist(), strict=True):
        if label >= 0:
            first, second = (
                of.get(label, floor) for of, floor in zip(odds, fusion.floors_, strict=True)
            )
            assert logit(score) == pytest.approx((first + 3 * second) / 4, abs=1e-3)
    with pytest.raises(ConfigError, match=r"method must be one of .*got 'platt'"):
        CalibratedFusion(method="platt").fit(learned_on, Y)


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_scores_of_any_size_have_log_odds(method):
    learned_on, Y = two_members(200)
    fusion = CalibratedFusion(method=method).fit(learned_on, Y)
    for huge in (3e38, -3e38):
        one = [Predictions(part.labels[:1], np.full((1, 10), huge), N_LABELS)
               for part in learned_on]  # fmt: skip
        found = fusion.fuse(one, top_k=20)
        scores = found.scores[found.labels >= 0]
        assert ((scores > 0) & (scores < 1)).all()


@pytest.mark.parametrize(("right", "word"), [([[1, 1]], "all"), ([[0, 0]], "none")])
def test_a_ranker_needs_labels_that_are_right_and_others(right, word):
    one = Predictions.from_lists([[0, 1]], None, 2)
    with pytest.raises(DataError, match=f"{word} are right; take fusion='rank'"):
        LearnedFusion().fit([one, one], right)


def test_a_ranker_scores_the_best_candidates_and_all_that_are_asked_for():
    learned_on, Y = two_members(200)
    fusion = LearnedFusion(candidates=4).fit(learned_on, Y)
    by_rank = fuse_predictions(learned_on, top_k=4)
    found = fusion.fuse(learned_on, top_k=4)
    assert (np.sort(found.labels) == np.sort(by_rank.labels)).all()
    more = fusion.fuse(learned_on, top_k=15)
    assert (more.labels >= 0).sum() > found.labels.size


def test_a_ranker_learns_from_as_many_instances_as_it_may(monkeypatch):
    learned_on, Y = two_members(120)
    monkeypatch.setattr(learned, "MAX_INSTANCES", 50)
    rows = np.linspace(0, 119, 50).astype(int)
    some = LearnedFusion().fit([one[rows] for one in learned_on], Y[rows])
    found = LearnedFusion().fit(learned_on, Y).fuse(learned_on)
    np.testing.assert_array_equal(found.scores, some.fuse(learned_on).scores)


LARGEST = float(np.finfo(np.float32).max)


@given(st.floats(-LARGEST, LARGEST, exclude_max=True))
def test_thresholds_are_rounded_so_that_float32_numbers_compare_the_same(value):
    lower = _rounded_down(np.array([value]))[0]
    assert lower.dtype == np.float32
    assert float(lower) <= value < float(np.nextafter(lower, np.float32(np.inf)))


def test_thresholds_beyond_float32_are_as_large_as_can_be():
    assert _rounded_down(np.array([1e39, -1e39, np.inf])).tolist() == [LARGEST, -LARGEST, LARGEST]
