"""A fitted Disentangled takes further instances, new labels, and fewer labels."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import make_catalogue
from multitudes.disentangle import Disentangled, ambiguous
from multitudes.disentangle.updating import matched_uses
from multitudes.errors import ConfigError, DataError, NotFittedError, UnknownFeaturesWarning
from multitudes.features import TfidfFeatures
from multitudes.groups import Eagle
from multitudes.linear import Parabel, SolverConfig, XRLinear
from multitudes.metrics import precision_at_k
from multitudes.store import load, save
from tests.linear.problems import assert_same_levels, assert_same_predictions

SMALL = {"branching": 4, "max_leaf_size": 20}
N_OLD = 340  # of 360 labels


@pytest.fixture(scope="module")
def shop():
    """Catalogue lines as TF-IDF, labels in random order: 3,000 to train, 1,000 to test."""
    made = make_catalogue(4000, n_labels=360, random_state=1).dataset
    X = TfidfFeatures().fit_transform(made.texts)
    Y = made.Y[:, np.random.default_rng(0).permutation(360)]
    return X[:3000], Y[:3000], X[3000:], Y[3000:]


@pytest.fixture(scope="module")
def whole(shop):
    """Fitted on everything."""
    return Disentangled(XRLinear(**SMALL)).fit(shop[0], shop[1])


@pytest.fixture(scope="module")
def half(shop):
    """Fitted on the first half of the instances."""
    return Disentangled(XRLinear(**SMALL)).fit(shop[0][:1500], shop[1][:1500])


@pytest.fixture(scope="module")
def fewer(shop):
    """Fitted without the last 20 labels."""
    return Disentangled(XRLinear(**SMALL)).fit(shop[0], shop[1][:, :N_OLD])


def changed(model):
    """A copy to change."""
    return copy.deepcopy(model)


def p1(model, X, Y):
    return 100 * precision_at_k(model.predict(X), Y, k=1)


def leaves(model):
    """The leaves of each label of the first tree, as a dense 0/1 matrix."""
    tree = model.models_[0].tree_
    return tree.label_clusters(tree.depth - 1).toarray()


# --- partial_fit


def test_without_rounds_an_update_is_that_of_the_model(shop):
    X, Y, X_test, _ = shop
    plain = XRLinear(**SMALL).fit(X[:1500], Y[:1500]).partial_fit(X[1500:], Y[1500:])
    model = Disentangled(XRLinear(**SMALL), rounds=0).fit(X[:1500], Y[:1500])
    assert model.partial_fit(X[1500:], Y[1500:]) is model
    assert_same_levels(model.models_[0].levels_, plain.levels_)
    assert_same_predictions(model.predict(X_test), plain.predict(X_test))


def test_with_one_leaf_per_label_it_is_a_plain_tree_on_these_leaves(shop):
    X, Y = shop[:2]
    model = Disentangled(XRLinear(**SMALL), overlap=1).fit(X[:1500], Y[:1500])
    plain = XRLinear(**SMALL, tree=model.models_[0].tree_).fit(X[:1500], Y[:1500])
    assert_same_levels(
        model.partial_fit(X[1500:], Y[1500:]).models_[0].levels_,
        plain.partial_fit(X[1500:], Y[1500:]).levels_,
    )


def test_with_overlap_it_is_a_tree_of_overlapping_leaves_trained_to_the_same_tolerance(shop, half):
    X, Y = shop[:2]
    tree = half.models_[0].tree_
    assert tree.n_slots > tree.n_labels
    rough = SolverConfig(epsilon=2.0 * SolverConfig().epsilon)
    plain = XRLinear(**SMALL, tree=tree, solver=rough).fit(X[:1500], Y[:1500])
    plain.partial_fit(X[1500:], Y[1500:])
    model = changed(half).partial_fit(X[1500:], Y[1500:])
    assert model.models_[0].tree_ == tree
    assert_same_levels(model.models_[0].levels_, plain.levels_)
    assert model.models_[0].solver == SolverConfig()


def test_new_instances_are_learned_and_old_ones_kept(shop, half):
    X, Y, X_test, Y_test = shop
    model = changed(half).partial_fit(X[1500:], Y[1500:])
    assert p1(model, X[1500:], Y[1500:]) > p1(half, X[1500:], Y[1500:]) + 5
    assert p1(model, X_test, Y_test) > p1(half, X_test, Y_test)
    assert p1(model, X[:1500], Y[:1500]) > p1(half, X[:1500], Y[:1500]) - 10


def test_a_first_call_is_fit_and_threads_change_nothing(shop, half):
    X, Y, X_test, _ = shop
    model = Disentangled(XRLinear(**SMALL, n_jobs=1)).partial_fit(X[:1500], Y[:1500])
    assert_same_predictions(model.predict(X_test), half.predict(X_test))
    two = changed(half).set_params(model__n_jobs=2)
    for one in (model, two):
        one.partial_fit(X[1500:], Y[1500:])
    assert_same_predictions(model.predict(X_test), two.predict(X_test))


def test_further_instances_count_among_the_senses_of_their_labels(shop, half):
    X, Y = shop[0][1500:], shop[1][1500:]
    model = changed(half).partial_fit(X, Y)
    tree, before, after = model.models_[0].tree_, half.notes_[0], model.notes_[0]
    grown = np.bincount(tree.slot_labels, weights=after.counts - before.counts)
    np.testing.assert_array_equal(grown, np.bincount(Y.indices, minlength=360))
    for name in ("examples", "nearest", "words", "word_weights"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert sum(sense.n_instances for sense in model.senses(7)) == shop[1][:, [7]].nnz


def test_an_instance_counts_in_the_leaf_that_the_matcher_prefers(shop, whole):
    """Held to a search with a full beam, instance by instance."""
    X, Y = shop[2][:60], shop[3][:60]
    model = whole.models_[0]
    tree = model.tree_
    found = model.match(X, beam_width=tree.n_leaves)
    expected = np.zeros(tree.n_slots, int)
    for row in range(60):
        rank = {leaf: i for i, leaf in enumerate(found.labels[row].tolist())}
        for label in Y.indices[Y.indptr[row] : Y.indptr[row + 1]]:
            slots = np.flatnonzero(tree.slot_labels == label)
            own = np.searchsorted(tree.offsets[-1], slots, side="right") - 1
            expected[slots[np.argmin([rank[leaf] for leaf in own.tolist()])]] += 1
    np.testing.assert_array_equal(matched_uses(model, X, Y), expected)


def test_instances_without_a_known_feature_are_warned_of(shop, half):
    X, Y = shop[0][1500:1510].tolil(), shop[1][1500:1510]
    X[:3] = 0
    with pytest.warns(UnknownFeaturesWarning, match="3 of 10 instances have no known feature"):
        changed(half).partial_fit(sp.csr_array(X), Y)


# --- add_labels


def test_new_labels_share_leaves_as_old_ones_do(shop, fewer):
    X, Y = shop[:2]
    after = leaves(changed(fewer).add_labels(X, Y))
    np.testing.assert_array_equal(after[:N_OLD], leaves(fewer))
    counts = np.bincount(Y.indices, minlength=360)[N_OLD:]
    copies = after[N_OLD:].sum(axis=1)
    assert (copies[counts < 2] == 1).all()
    assert copies.max() == 2
    assert copies[counts >= 5].mean() > 1.5


def test_without_a_cap_they_go_where_most_of_their_instances_are_led(shop):
    """The rule of the paper, Eq. 10."""
    X, Y = shop[:2]
    model = Disentangled(XRLinear(**SMALL), max_cluster_size=None).fit(X, Y[:, :N_OLD])
    matched = model.models_[0].match(X, beam_width=6).to_csr()
    matched.data[:] = 1
    led = (Y[:, N_OLD:].T @ matched).toarray()
    placed = leaves(model.add_labels(X, Y))[N_OLD:] > 0
    for counts, own in zip(led, placed, strict=True):
        assert counts[own].min() >= counts[~own].max() or own.sum() == 1
        assert counts[own].max() == counts.max()


def test_a_cap_counts_old_and_new_labels(shop):
    X, Y = shop[:2]
    model = Disentangled(XRLinear(**SMALL), max_cluster_size=24).fit(X, Y[:, :N_OLD])
    sizes = leaves(model).sum(axis=0)
    assert sizes.max() == 24
    assert leaves(model.add_labels(X, Y)).sum(axis=0).max() == 24


def test_old_labels_keep_their_rankers_and_new_ones_are_found(shop, fewer):
    X, Y, X_test, Y_test = shop
    model = changed(fewer).add_labels(X, Y)
    assert model.n_labels_ == 360
    assert_same_levels(model.models_[0].levels_[:-1], fewer.models_[0].levels_[:-1])
    old, new = (m.predict(X_test, top_k=5, labels=np.arange(N_OLD)) for m in (fewer, model))
    np.testing.assert_array_equal(new.labels, old.labels)
    np.testing.assert_allclose(new.scores, old.scores, rtol=1e-5)  # larger chunks add otherwise
    carrying = np.flatnonzero(Y_test[:, N_OLD:].sum(axis=1))
    found = model.predict(X_test[carrying]).labels
    hits = Y_test[carrying].toarray()[np.arange(len(carrying))[:, None], found]
    assert (hits * (found >= N_OLD)).any(axis=1).mean() > 0.4


def test_added_labels_are_about_as_good_as_trained_from_the_start(shop, whole, fewer):
    X, Y, X_test, Y_test = shop
    assert p1(changed(fewer).add_labels(X, Y), X_test, Y_test) > p1(whole, X_test, Y_test) - 2


def test_without_rounds_labels_are_added_as_in_the_model(shop):
    X, Y, X_test, _ = shop
    plain = XRLinear(**SMALL).fit(X, Y[:, :N_OLD]).add_labels(X, Y)
    model = Disentangled(XRLinear(**SMALL), rounds=0).fit(X, Y[:, :N_OLD]).add_labels(X, Y)
    assert_same_predictions(model.predict(X_test), plain.predict(X_test))


def test_a_label_without_instances_goes_where_its_text_leads(shop):
    X, Y = shop[0], shop[1][:, :N_OLD]
    model = Disentangled(XRLinear(**SMALL), max_cluster_size=None).fit(X, Y)
    grown = sp.hstack([Y, sp.csr_array((3000, 2))], format="csr")
    expected = model.models_[0].match(X[[5, 60]], beam_width=6).labels[:, 0]
    smallest = int(np.argmin(np.diff(model.models_[0].tree_.offsets[-1])))
    without = leaves(changed(model).add_labels(X, grown))[N_OLD:]
    placed = leaves(model.add_labels(X, grown, label_features=X[[5, 60]]))[N_OLD:]
    assert (placed.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(placed.argmax(axis=1), expected)
    np.testing.assert_array_equal(without.argmax(axis=1), [smallest, smallest])


def test_a_cap_without_room_for_new_labels_says_so(shop):
    X, Y = shop[:2]
    model = Disentangled(XRLinear(**SMALL), overlap=1, max_cluster_size=11).fit(X, Y[:, :N_OLD])
    room = 11 * model.models_[0].tree_.n_leaves - N_OLD
    assert room < 20
    with pytest.raises(ConfigError, match=f"leaves room for {room} more labels .* 20 are new"):
        model.add_labels(X, Y)
    assert model.n_labels_ == N_OLD
    assert model.add_labels(X, Y[:, : N_OLD + room]).n_labels_ == N_OLD + room  # just enough


def test_senses_of_old_and_new_labels_after_adding(shop, fewer):
    X, Y = shop[:2]
    model = changed(fewer).add_labels(X, Y)
    for label in (3, 7, 11):
        assert model.senses(label) == fewer.senses(label)
    new = next(i for i in range(N_OLD, 360) if leaves(model)[i].sum() == 2)
    senses = model.senses(new)
    assert sum(sense.n_instances for sense in senses) == Y[:, [new]].nnz
    assert any(sense.words for sense in senses)
    assert all(sense.examples == () for sense in senses)  # rows of other data
    assert ambiguous(model)


def test_the_first_label_with_two_leaves_brings_senses(shop):
    X, Y = shop[0], shop[1][:, :N_OLD]
    model = Disentangled(XRLinear(**SMALL), overlap=2, min_instances=3001).fit(X, Y)
    assert model.notes_ == [None]
    model.set_params(min_instances=2).add_labels(X, shop[1])
    assert len(model.senses(int(np.argmax(leaves(model).sum(axis=1))))) == 2


# --- remove_labels


@pytest.mark.parametrize("make", [lambda: XRLinear(**SMALL), lambda: Parabel(max_leaf_size=20)])
def test_removing_labels_is_never_predicting_them(shop, make, monkeypatch):
    monkeypatch.setattr("multitudes.linear.tree_estimator.EXACT_LEAVES", 1)  # the same beam
    X, Y, X_test, _ = shop
    model = Disentangled(make()).fit(X, Y)
    gone = np.array([0, 17, 41, 42, 200, 359])
    kept = np.setdiff1d(np.arange(360), gone)
    masked = model.predict(X_test, top_k=10, labels=kept)
    assert model.remove_labels(gone) is model
    found = model.predict(X_test, top_k=10)
    assert model.n_labels_ == found.n_labels == 354
    np.testing.assert_array_equal(np.append(kept, -1)[found.labels], masked.labels)
    np.testing.assert_allclose(found.scores, masked.scores, rtol=1e-5)


def test_removing_what_was_added_undoes_it(shop, fewer):
    X, Y, X_test, _ = shop
    model = changed(fewer).add_labels(X, Y).remove_labels(np.arange(N_OLD, 360))
    assert_same_predictions(model.predict(X_test, top_k=10), fewer.predict(X_test, top_k=10))
    assert model.models_[0].tree_ == fewer.models_[0].tree_
    for label in range(0, N_OLD, 20):
        assert model.senses(label) == fewer.senses(label)


def test_senses_are_renumbered_and_name_no_label_that_is_gone(shop, whole):
    gone = np.arange(0, 360, 9)
    kept = np.setdiff1d(np.arange(360), gone)
    model = changed(whole).remove_labels(gone)
    for new, old in enumerate(kept.tolist()):
        for after, before in zip(model.senses(new), whole.senses(old), strict=True):
            assert after.words == before.words
            assert after.examples == before.examples
            stayed = [label for label in before.nearest if label not in gone]
            assert [kept[label] for label in after.nearest] == stayed


def test_when_no_label_has_two_leaves_any_more_there_are_no_senses(shop, whole):
    copies = leaves(whole).sum(axis=1)
    model = changed(whole).remove_labels(np.flatnonzero(copies > 1))
    assert model.notes_ == [None]
    with pytest.raises(ConfigError, match="one sense"):
        model.senses(0)
    assert model.predict(shop[2]).labels.max() < model.n_labels_


def test_bad_input_changes_nothing(shop, whole):
    X, Y = shop[:2]
    model = changed(whole)
    with pytest.raises(DataError, match="all labels would be removed"):
        model.remove_labels(range(360))
    with pytest.raises(DataError, match="label must be an id from 0 to 359, got 360"):
        model.remove_labels([360])
    with pytest.raises(DataError, match="y has 360 labels, of which the model already has 360"):
        model.add_labels(X, Y)
    with pytest.raises(DataError, match="y has 10 labels, but the model has 360"):
        model.partial_fit(X, Y[:, :10])
    assert_same_predictions(model.predict(X[:50]), whole.predict(X[:50]))
    for ask in (lambda m: m.add_labels(X, Y), lambda m: m.remove_labels([0])):
        with pytest.raises(NotFittedError):
            ask(Disentangled(XRLinear()))


# --- kept and used elsewhere


def test_a_changed_model_is_stored_explained_and_changed_further(shop, fewer, tmp_path):
    X, Y, X_test, _ = shop
    model = changed(fewer).add_labels(X, Y).partial_fit(X[:100], Y[:100]).remove_labels([2, 350])
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert_same_predictions(again.predict(X_test), model.predict(X_test))
    assert again.senses(3) == model.senses(3)
    kept = np.setdiff1d(np.arange(360), [2, 350])
    for one in (model, again):
        one.partial_fit(X[100:200], Y[100:200][:, kept])
    assert_same_predictions(again.predict(X_test), model.predict(X_test))
    label = int(model.predict(X_test[[0]], top_k=1, beam_width=100).labels[0, 0])
    assert model.explain(X_test[[0]], label).label == label
    pairs = sp.csr_array(([1.0], ([0], [label])), shape=(len(X_test.indptr) - 1, 358))
    assert model.score_pairs(X_test, pairs).nnz == 1


def test_inside_eagle(shop):
    X, Y, X_test, _ = shop
    groups = sp.csr_array(sp.eye_array(3000, dtype=np.float32))
    eagle = Eagle(Disentangled(XRLinear(**SMALL))).fit(X, groups, Y)
    inside = eagle.model_.partial_fit(X[:100], Y[:100]).remove_labels([0])
    assert inside.n_labels_ == 359
    assert eagle.predict(X_test).labels.max() < 359
