"""Senses: which instances belong to which leaf of a label, and what is noted about them."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import make_catalogue
from multitudes.disentangle import Disentangled
from multitudes.disentangle.sense_learning import learn_senses, sense_uses
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.features import TfidfFeatures
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels import LabelTree
from multitudes.linear import Parabel, XRLinear
from multitudes.store import load, save
from tests.kernels.twins.clustering import sense_similarities

BAT, CRICKET, BALL, CAVE, NIGHT, NOTHING = range(6)
TEXTS = {
    "willow bat wicket": [BAT, CRICKET],
    "willow handle wicket": [BAT, CRICKET],
    "leather seam wicket": [BALL, CRICKET],
    "brand new": [BAT],  # no other label knows these words: a tie
    "wings echo dark": [BAT, CAVE],
    "wings roost dark": [BAT, NIGHT],
    "stone dripping dark": [CAVE, NIGHT],
    "stars dark": [NIGHT],
    "wings folded": [BAT],  # by its words alone
}
SPORT, ANIMALS = 0, 1
TREE = LabelTree.from_leaves([[BAT, CRICKET, BALL], [BAT, CAVE, NIGHT, NOTHING]])


def as_matrix(rows, n_columns):
    pairs = [(i, column) for i, row in enumerate(rows) for column in row]
    i, j = np.array(pairs).T
    return sp.csr_array((np.ones(len(pairs), np.float32), (i, j)), shape=(len(rows), n_columns))


@pytest.fixture(scope="module")
def bats():
    """(words, X, Y) of the texts above."""
    words = sorted({word for text in TEXTS for word in text.split()})
    X = as_matrix([[words.index(word) for word in text.split()] for text in TEXTS], len(words))
    return words, X, as_matrix(list(TEXTS.values()), 6)


@pytest.fixture(scope="module")
def notes(bats):
    _, X, Y = bats
    model = XRLinear(tree=TREE, weights="float32").fit(X, Y)
    return learn_senses(TREE, model.levels_[-1], X, Y, keep_examples=3)


def slot(label, leaf):
    return int(TREE.offsets[-1][leaf]) + TREE.labels_of_leaf(leaf).tolist().index(label)


def kept(row):
    return row[row >= 0].tolist()


def test_instances_are_divided_by_the_other_labels_of_the_leaves(bats):
    _, X, Y = bats
    with ThreadTeam(1) as team:
        uses = sense_uses(TREE, X, Y, team)
    assert uses[[slot(BAT, SPORT)]].indices.tolist() == [0, 1, 3]  # ties to the smaller leaf
    assert uses[[slot(BAT, ANIMALS)]].indices.tolist() == [4, 5, 8]
    assert uses.nnz == Y.nnz


def test_uses_are_the_similarities_of_the_leaves_that_win():
    """Values of all slots, the first included, against the kernel's slow twin."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((30, 8)).astype(np.float32), (rng.random((30, 6)) < 0.4).astype(np.float32)
    leaf_of_slot = np.repeat(np.arange(TREE.n_leaves), np.diff(TREE.offsets[-1]))
    slots = sense_similarities(X, Y, leaf_of_slot, TREE.slot_labels)
    with ThreadTeam(1) as team:
        uses = sense_uses(TREE, sp.csr_array(X), sp.csr_array(Y), team)
    best = np.full((6, 30), -np.inf)
    for label, values in zip(TREE.slot_labels, slots, strict=True):
        users = np.flatnonzero(Y[:, label])
        best[label, users] = np.maximum(best[label, users], values)
    for one, label in enumerate(TREE.slot_labels):
        row = uses[[one]]
        np.testing.assert_allclose(row.data, best[label, row.indices], atol=1e-5)
    assert uses.nnz == Y.sum()


def test_counts_and_examples(notes, bats):
    assert notes.counts[slot(BAT, SPORT)] == 3
    assert notes.counts[slot(BAT, ANIMALS)] == 3
    assert notes.counts[slot(NOTHING, ANIMALS)] == 0
    sizes = np.bincount(TREE.slot_labels, weights=notes.counts)
    np.testing.assert_array_equal(sizes, bats[2].sum(axis=0))
    assert kept(notes.examples[slot(BAT, SPORT)])[-1] == 3  # the least typical
    assert sorted(kept(notes.examples[slot(BAT, ANIMALS)])) == [4, 5, 8]
    assert kept(notes.examples[slot(NOTHING, ANIMALS)]) == []


def test_nearest_are_the_labels_that_a_sense_shares(notes):
    assert kept(notes.nearest[slot(BAT, SPORT)]) == [CRICKET]
    # One shared instance each, but of two that CAVE has and of three that NIGHT has.
    assert kept(notes.nearest[slot(BAT, ANIMALS)]) == [CAVE, NIGHT]
    assert kept(notes.nearest[slot(NOTHING, ANIMALS)]) == []


def test_words_are_those_of_the_sense_alone(notes, bats):
    words = bats[0]
    told = {
        leaf: [words[word] for word in kept(notes.words[slot(BAT, leaf)])]
        for leaf in (SPORT, ANIMALS)
    }
    assert told[SPORT][0] == "willow"
    assert told[ANIMALS][0] == "wings"
    assert "wings" not in told[SPORT]
    assert "willow" not in told[ANIMALS]
    weights = notes.word_weights[slot(BAT, SPORT)]
    assert (np.diff(weights) <= 0).all()
    assert weights[len(told[SPORT])] == 0


@pytest.fixture(scope="module")
def shop():
    made = make_catalogue(3000, n_labels=300, random_state=1).dataset
    return TfidfFeatures().fit_transform(made.texts), made.Y


@pytest.fixture(scope="module")
def fitted(shop):
    return Disentangled(XRLinear(branching=4, max_leaf_size=20)).fit(*shop)


def test_notes_are_the_same_on_any_number_of_threads(shop, fitted):
    part = fitted.models_[0]
    one, three = (
        learn_senses(part.tree_, part.levels_[-1], *shop, keep_examples=2, n_jobs=n) for n in (1, 3)
    )
    for name, array in one.to_arrays("").items():
        np.testing.assert_array_equal(array, three.to_arrays("")[name])


def test_senses_of_a_label(shop, fitted):
    Y = shop[1]
    tree = fitted.models_[0].tree_
    label = int(np.argmax(Y.sum(axis=0)))
    senses = fitted.senses(label)
    assert [sense.leaf for sense in senses] == sorted(
        np.flatnonzero([label in tree.labels_of_leaf(leaf) for leaf in range(tree.n_leaves)]),
        key=lambda leaf: -next(s.n_instances for s in senses if s.leaf == leaf),
    )
    assert len(senses) == 2
    assert sum(sense.n_instances for sense in senses) == Y[:, [label]].sum()
    for sense in senses:
        assert set(sense.nearest) <= set(tree.labels_of_leaf(sense.leaf)) - {label}
        weights = [weight for _, weight in sense.words]
        assert weights == sorted(weights, reverse=True)
        assert Y[list(sense.examples)][:, [label]].toarray().all()
        assert isinstance(sense.silhouette, float)
        assert -1 <= sense.silhouette <= 1


def test_an_ensemble_has_senses_in_each_tree(shop):
    model = Disentangled(Parabel(n_trees=2, max_leaf_size=40), keep_examples=1).fit(*shop)
    senses = model.senses(0)
    assert [sense.tree for sense in senses] == [0, 0, 1, 1]
    assert all(len(sense.examples) <= 1 for sense in senses)


def test_senses_come_back_from_disk(tmp_path, fitted):
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.senses(5) == fitted.senses(5)


def test_senses_take_names(fitted):
    sense = fitted.senses(5)[0]
    labels = [f"label {i}" for i in range(fitted.n_labels_)]
    words = [f"word {i}" for i in range(fitted.n_features_in_)]
    first, *others = sense.examples
    named = sense.named(labels, words, {first: "a text"})
    assert named.nearest == tuple(f"label {i}" for i in sense.nearest)
    assert named.words == tuple((f"word {i}", weight) for i, weight in sense.words)
    assert named.texts == ("a text",)
    assert named.examples == (first, *others)
    words_line = next(line for line in str(named).split("\n") if line.startswith("  words: "))
    word, weight = named.words[0]
    assert words_line.startswith(f"  words: {word} {weight:+.2f}, ")
    assert str(named).endswith("\n  - a text")
    unnamed = sense.named(labels, None, {})
    assert unnamed.words[0] == (f"feature {sense.words[0][0]}", sense.words[0][1])
    assert unnamed.texts == ()


def test_a_narrow_match_gives_fewer_copies(shop, fitted):
    narrow = Disentangled(fitted.model, match_width=1).fit(*shop)
    assert narrow.models_[0].tree_.n_slots < fitted.models_[0].tree_.n_slots
    assert narrow.models_[0].beam_width == fitted.models_[0].beam_width


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"overlap": 1}, "every label of this model lives in one leaf .* overlap=2 or more"),
        ({"rounds": 0}, "every label of this model lives in one leaf"),
        ({"keep_examples": 0}, "trained with keep_examples=0 .* keep_examples=1 or more"),
    ],
)
def test_models_that_know_no_senses(shop, settings, message, tmp_path):
    model = Disentangled(XRLinear(branching=4, max_leaf_size=20), **settings).fit(*shop)
    assert model.notes_ == [None]
    save(model, tmp_path / "model")
    for one in (model, load(tmp_path / "model")):
        with pytest.raises(ConfigError, match=message):
            one.senses(0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep_examples": -1}, "keep_examples must be a whole number >= 0, got -1"),
        ({"match_width": 0}, "match_width must be a whole number >= 1, got 0"),
    ],
)
def test_settings_that_are_not_allowed(shop, settings, message):
    with pytest.raises(ConfigError, match=message):
        Disentangled(XRLinear(max_leaf_size=20), **settings).fit(*shop)


def test_labels_that_are_not_there(fitted):
    with pytest.raises(DataError, match="300"):
        fitted.senses(300)
    with pytest.raises(NotFittedError, match="has not learned anything yet"):
        Disentangled(XRLinear()).senses(0)
