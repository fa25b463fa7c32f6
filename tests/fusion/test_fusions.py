"""Lists made one: by rank, by log-odds, and as learned."""

from __future__ import annotations

import numpy as np
import pytest
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
)
from multitudes.fusion.trees import grown_trees
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
def test_stored_and_built_again(make, tmp_path):
    learned_on, Y = two_members(200)
    texts, names = ["some label 3"] * 200, [f"label {number}" for number in range(N_LABELS)]
    fusion = make().fit(learned_on, Y, label_counts=COUNTS, texts=texts, label_texts=names)
    store.save(fusion, tmp_path / "fusion")
    again = store.load(tmp_path / "fusion")
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
    with pytest.raises(DataError, match="nothing to learn from"):
        make().fit([Predictions(np.full((2, 3), -1), np.full((2, 3), -np.inf), 5)], Y[:2, :5])
    with pytest.raises(ConfigError, match="top_k must be a whole number"):
        fusion.fuse(learned_on, top_k=0)


def test_ranks_count_from_a_constant_of_3_unless_told_otherwise():
    given = [lists([3, 1], [5]), lists([1, 2], [])]
    default, same, other = (
        fuse_predictions(given, **constant).scores
        for constant in ({}, {"constant": 3.0}, {"constant": 4.0})
    )
    np.testing.assert_array_equal(default, same)
    assert (default != other).any()
