"""Change without starting over: further instances, further labels, fewer labels."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes import store
from multitudes.errors import DataError, NotFittedError, UnknownFeaturesWarning
from multitudes.linear import OneVsAll, Parabel, XRLinear

from .problems import assert_same_levels, assert_same_predictions, problem
from .shop import precisions, shop

SMALL = {"branching": 4, "max_leaf_size": 5}
WEIGHTS = ("float32", "float16", "int8")
MODELS = {
    "xr-linear": XRLinear(branching=4, max_leaf_size=20),
    "parabel": Parabel(max_leaf_size=20),
    "one-vs-all": OneVsAll(),
}


@pytest.fixture(scope="module")
def data():
    return problem(n=300, n_features=60, n_labels=80)


@pytest.fixture(scope="module")
def parts():
    return shop()


@pytest.fixture(params=MODELS)
def fresh(request):
    """An unfitted model of each kind."""
    made = MODELS[request.param]
    return type(made)(**made.get_params(deep=False))


def rankers(model):
    """Of each label, all that is stored: features, values, and (bias, scale), by label id."""
    level, offsets = model.levels_[-1], model.tree_.offsets[-1]
    entry_row = np.repeat(np.arange(len(level.row_feature)), np.diff(level.row_entry))
    row_cluster = np.repeat(np.arange(level.n_clusters), np.diff(level.chunk_row))
    slot = offsets[row_cluster[entry_row]] + level.entry_child
    found = {}
    for at, label in enumerate(model.tree_.slot_labels.tolist()):
        own = slot == at
        numbers = np.array([level.bias[at], level.scale[at]])
        found[label] = (level.row_feature[entry_row[own]], level.entry_value[own], numbers)
    return found


def assert_same_rankers(left, right):
    assert left.keys() == right.keys()
    for label, arrays in left.items():
        for a, b in zip(arrays, right[label], strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


# --- partial_fit


def test_a_first_call_is_fit(data, fresh):
    X, Y = data
    expected = type(fresh)(**fresh.get_params(deep=False)).fit(X, Y).predict(X)
    assert fresh.partial_fit(X, Y) is fresh
    assert_same_predictions(fresh.predict(X), expected)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_only_touched_clusters_change(data, weights):
    X, Y = data
    model = XRLinear(**SMALL, weights=weights).fit(X[:200], Y[:200])
    tree, old = model.tree_, model.levels_
    new_Y = np.zeros((100, 80), np.float32)
    new_Y[:, 3] = 1  # all new instances carry label 3 alone
    model.partial_fit(X[200:], sp.csr_array(new_Y))
    assert model.tree_ is tree
    slot = int(np.flatnonzero(tree.slot_labels == 3)[0])
    path = [int(tree.cluster_of_slot(level)[slot]) for level in range(tree.depth)]
    for level, (before, after) in enumerate(zip(old, model.levels_, strict=True)):
        offsets = tree.offsets[level]
        for cluster in range(before.n_clusters):
            same = same_chunk(before, after, cluster, offsets)
            assert same == (cluster != path[level])
        grown = after.seen - before.seen
        assert grown[path[level]] == 100
        assert grown.sum() == 100


def same_chunk(left, right, cluster, offsets):
    """Whether a cluster's weights are stored the same, bit for bit."""
    found = []
    for level in (left, right):
        first, last = level.chunk_row[cluster : cluster + 2]
        entries = slice(level.row_entry[first], level.row_entry[last])
        children = slice(offsets[cluster], offsets[cluster + 1])
        found.append([
            level.row_feature[first:last], np.diff(level.row_entry[first : last + 1]),
            level.entry_child[entries], level.entry_value[entries],
            level.bias[children], level.scale[children],
        ])  # fmt: skip
    return all(map(np.array_equal, *found))


def test_new_data_is_learned_and_old_data_is_kept(parts, fresh):
    half = len(parts.Y_test.indptr) // 2
    X_old, Y_old = parts.X[:2000], parts.Y[:2000]
    fresh.fit(X_old, Y_old)
    (seen_before, *_) = precisions(fresh, X_old, Y_old)
    (new_before, *_) = precisions(fresh, parts.X[2000:], parts.Y[2000:])
    (test_before, *_) = precisions(fresh, parts.X_test[:half], parts.Y_test[:half])
    fresh.partial_fit(parts.X[2000:], parts.Y[2000:])
    assert precisions(fresh, parts.X[2000:], parts.Y[2000:])[0] > new_before + 5
    assert precisions(fresh, parts.X_test[:half], parts.Y_test[:half])[0] > test_before
    assert precisions(fresh, X_old, Y_old)[0] > seen_before - 10


def test_what_was_known_of_other_labels_is_not_lost(parts):
    """The new instances carry other labels than the old test instances."""
    early, late = np.arange(200), np.arange(200, 400)
    old, new = (np.flatnonzero(parts.Y[:, own].sum(axis=1)) for own in (early, late))
    tested = np.flatnonzero(parts.Y_test[:, early].sum(axis=1))
    new = np.setdiff1d(new, old)
    assert len(new) > 100
    model = XRLinear(branching=4, max_leaf_size=20).fit(parts.X[old], parts.Y[old])
    before = precisions(model, parts.X_test[tested], parts.Y_test[tested])[0]
    model.partial_fit(parts.X[new], parts.Y[new])
    assert precisions(model, parts.X_test[tested], parts.Y_test[tested])[0] > before - 2


def test_learning_the_same_again_hardly_changes_anything(parts):
    model = XRLinear(branching=4, max_leaf_size=20).fit(parts.X, parts.Y)
    before = precisions(model, parts.X_test, parts.Y_test)
    model.partial_fit(parts.X[:500], parts.Y[:500])
    np.testing.assert_allclose(precisions(model, parts.X_test, parts.Y_test), before, atol=2)


def test_one_thread_and_two_update_alike(data):
    X, Y = data
    one, two = (
        XRLinear(**SMALL, n_jobs=n).fit(X[:200], Y[:200]).partial_fit(X[200:], Y[200:])
        for n in (1, 2)
    )
    assert_same_levels(one.levels_, two.levels_)


@pytest.mark.parametrize("columns", [79, 81])
def test_partial_fit_knows_its_labels(data, columns):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    other = sp.csr_array(np.ones((300, columns)))
    with pytest.raises(DataError, match=f"y has {columns} labels, but the model has 80"):
        model.partial_fit(X, other)


def test_partial_fit_checks_rows_and_features(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    with pytest.raises(DataError, match="X has 299 rows and y has 300"):
        model.partial_fit(X[:299], Y)
    with pytest.raises(DataError, match="X has 10 features, but .* is expecting 60 features"):
        model.partial_fit(X[:, :10], Y)


# --- add_labels


def held_out(parts, random_state, share=0.05):
    """The parts with a random 5 % of labels last, and the number of the others."""
    order = np.random.default_rng(random_state).permutation(parts.Y.shape[1])
    n_old = round((1 - share) * len(order))
    return parts.with_labels(np.r_[np.sort(order[:n_old]), np.sort(order[n_old:])]), n_old


def test_added_labels_are_as_good_as_trained_from_the_start(parts, fresh):
    """P@1, P@3 and P@5 within one point of a full retrain, mean over eight choices of labels."""
    lost = []
    for random_state in range(8):
        union, n_old = held_out(parts, random_state)
        settings = fresh.get_params(deep=False)
        full = type(fresh)(**settings).fit(union.X, union.Y)
        grown = type(fresh)(**settings).fit(union.X, union.Y[:, :n_old])
        grown.add_labels(union.X, union.Y)
        assert grown.n_labels_ == 400
        scores = [precisions(m, union.X_test, union.Y_test) for m in (full, grown)]
        lost.append(np.subtract(*scores))
    assert np.mean(lost, axis=0).max() < 1


@pytest.mark.parametrize("weights", WEIGHTS)
def test_old_labels_keep_their_weights(parts, weights):
    union, n_old = held_out(parts, 0)
    model = XRLinear(branching=4, max_leaf_size=20, weights=weights)
    model.fit(union.X, union.Y[:, :n_old])
    before, levels = rankers(model), model.levels_
    model.add_labels(union.X, union.Y)
    after = rankers(model)
    assert set(after) == set(range(400))
    assert_same_rankers({label: after[label] for label in before}, before)
    assert_same_levels(model.levels_[:-1], levels[:-1])


def test_new_labels_are_found(parts, fresh):
    union, n_old = held_out(parts, 1)
    fresh.fit(union.X, union.Y[:, :n_old]).add_labels(union.X, union.Y)
    carrying = np.flatnonzero(union.Y[:, n_old:].sum(axis=1))
    found = fresh.predict(union.X[carrying], top_k=5)
    hits = union.Y[carrying].toarray()[np.arange(len(carrying))[:, None], found.labels]
    assert (hits * (found.labels >= n_old)).any(axis=1).mean() > 0.5


def test_new_instances_alone_are_enough(parts):
    union, n_old = held_out(parts, 2)
    carrying = np.flatnonzero(union.Y[:, n_old:].sum(axis=1))
    model = XRLinear(branching=4, max_leaf_size=20).fit(union.X, union.Y[:, :n_old])
    model.add_labels(union.X[carrying], union.Y[carrying])
    found = model.predict(union.X[carrying], top_k=5)
    assert ((found.labels >= n_old) & (found.scores > 0.1)).any(axis=1).mean() > 0.5


def test_labels_are_placed_by_their_features_where_they_have_no_instances(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    grown = sp.hstack([Y, sp.csr_array((300, 3))], format="csr")
    model.add_labels(X, grown, label_features=X[[5, 60, 200]])
    expected = model.match(X[[5, 60, 200]], beam_width=10).labels[:, 0]
    np.testing.assert_array_equal(model.tree_.leaf_of_label()[80:], expected)


def test_instances_outvote_the_features_of_a_label(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    leaves = model.match(X).labels[:, 0]
    carrying = np.flatnonzero(leaves == leaves[0])[:3]
    elsewhere = int(np.flatnonzero(leaves != leaves[0])[0])
    column = np.zeros((300, 1), np.float32)
    column[carrying] = 1
    grown = sp.hstack([Y, sp.csr_array(column)], format="csr")
    model.add_labels(X, grown, label_features=X[[elsewhere]])
    assert model.tree_.leaf_of_label()[80] == leaves[0]


def test_a_label_with_neither_goes_to_the_smallest_leaf_and_ranks_last(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    smallest = int(np.argmin(np.diff(model.tree_.offsets[-1])))
    model.add_labels(X, sp.hstack([Y, sp.csr_array((300, 1))], format="csr"))
    assert model.tree_.leaf_of_label()[80] == smallest
    assert (model.predict(X, top_k=1).labels != 80).all()
    assert 80 in model.predict(X, top_k=81, beam_width=10**6).labels


def test_instances_without_features_do_not_make_a_label_fit_everything(data):
    """All that such an instance could teach is the bias."""
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    before = model.predict(X, top_k=3)
    nothing = sp.csr_array((5, 60), dtype=np.float32)
    grown = sp.csr_array((np.ones(5), (np.arange(5), np.full(5, 80))), shape=(5, 81))
    with pytest.warns(UnknownFeaturesWarning, match="5 of 5 instances"):
        model.add_labels(nothing, grown)
    assert_same_predictions(model.predict(X, top_k=3), before)
    assert 80 in model.predict(X[:1], top_k=81, beam_width=10**6).labels


def test_labels_can_be_added_one_after_the_other(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y[:, :70])
    for n_labels in (71, 75, 80):
        model.add_labels(X, Y[:, :n_labels])
    assert model.n_labels_ == 80
    found = model.predict(X, top_k=1).labels[:, 0]
    assert Y.toarray()[np.arange(300), found].mean() > 0.85


def test_grown_models_are_stored_and_updated_further(data, tmp_path):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y[:, :70]).add_labels(X, Y)
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model")
    assert_same_predictions(again.predict(X), model.predict(X))
    first, second = (m.partial_fit(X[:50], Y[:50]).predict(X) for m in (model, again))
    assert_same_predictions(first, second)


@pytest.mark.parametrize("columns", [70, 80])
def test_y_must_have_columns_beyond_the_known_labels(data, columns):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    with pytest.raises(DataError, match=f"y has {columns} labels, .* already has 80"):
        model.add_labels(X, Y[:, :columns])


def test_add_labels_checks_what_it_is_given(data):
    X, Y = data
    grown = sp.hstack([Y, Y[:, :2]], format="csr")
    model = XRLinear(**SMALL).fit(X, Y)
    with pytest.raises(DataError, match="X has 10 rows and y has 300"):
        model.add_labels(X[:10], grown)
    with pytest.raises(DataError, match="a row for each of the 2 new labels, got 3 rows"):
        model.add_labels(X, grown, label_features=X[:3])
    with pytest.raises(DataError, match="label_features has 5 features"):
        model.add_labels(X, grown, label_features=X[:2, :5])
    with pytest.raises(NotFittedError):
        XRLinear().add_labels(X, Y)
    assert model.n_labels_ == 80


# --- remove_labels


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", MODELS)
def test_removing_what_was_added_undoes_it(data, kind, weights):
    X, Y = data
    given = {**MODELS[kind].get_params(deep=False), "weights": weights}
    model = type(MODELS[kind])(**given).fit(X, Y[:, :76])
    before = model.predict(X, top_k=10)
    model.add_labels(X, Y)
    assert (model.predict(X, top_k=10).labels >= 76).any()
    model.remove_labels(np.arange(76, 80))
    assert model.n_labels_ == 76
    assert_same_predictions(model.predict(X, top_k=10), before)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_labels_that_stay_keep_their_order_and_weights(data, weights):
    X, Y = data
    model = XRLinear(**SMALL, weights=weights).fit(X, Y)
    before, whole = rankers(model), model.predict(X, top_k=80, beam_width=10**6)
    dropped = [0, 17, 41, 42, 79]
    kept = np.setdiff1d(np.arange(80), dropped)
    model.remove_labels(dropped)
    after = rankers(model)
    assert_same_rankers(after, {new: before[old] for new, old in enumerate(kept.tolist())})
    found = model.predict(X, top_k=75, beam_width=10**6)
    assert found.n_labels == 75
    stays = np.isin(whole.labels, kept)
    np.testing.assert_array_equal(kept[found.labels], whole.labels[stays].reshape(300, 75))
    np.testing.assert_allclose(found.scores, whole.scores[stays].reshape(300, 75), rtol=1e-5)


def test_a_leaf_may_become_empty(data, tmp_path):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    leaf = model.tree_.labels_of_leaf(2)
    n_leaves = model.tree_.n_leaves
    model.remove_labels(leaf)
    assert model.tree_.n_leaves == n_leaves
    assert len(model.tree_.labels_of_leaf(2)) == 0
    found = model.predict(X, top_k=model.n_labels_, beam_width=10**6)
    everything = np.arange(model.n_labels_)
    np.testing.assert_array_equal(np.sort(found.labels, axis=1), [everything] * 300)
    store.save(model, tmp_path / "model")
    assert_same_predictions(store.load(tmp_path / "model").predict(X), model.predict(X))
    kept = np.setdiff1d(np.arange(80), leaf)
    model.partial_fit(X[:50], Y[:50][:, kept])
    model.add_labels(X, Y[:, np.r_[kept, leaf]])
    assert model.n_labels_ == 80


def test_one_label_or_none_may_be_named(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    before = model.predict(X)
    assert_same_predictions(model.remove_labels([]).predict(X), before)
    assert model.remove_labels(5).n_labels_ == 79
    assert model.remove_labels(np.arange(78)).predict(X).labels.tolist() == [[0]] * 300


@pytest.mark.parametrize("labels", [[80], [-1], [0.5], ["3"], [3, 99]])
def test_unknown_labels_cannot_be_removed(data, labels):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    with pytest.raises(DataError, match="label must be an id from 0 to 79, got"):
        model.remove_labels(labels)
    assert model.n_labels_ == 80


def test_a_model_keeps_at_least_one_label(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    with pytest.raises(DataError, match="all labels would be removed"):
        model.remove_labels(range(80))
    with pytest.raises(NotFittedError):
        XRLinear().remove_labels([0])
