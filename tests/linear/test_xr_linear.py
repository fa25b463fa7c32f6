"""XRLinear as its users meet it: results that repeat, options that mean what they say."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from multitudes import store
from multitudes.features import TfidfFeatures
from multitudes.labels import LabelTree
from multitudes.linear import SolverConfig, XRLinear
from multitudes.metrics import precision_at_k

from .problems import assert_same_levels, assert_same_predictions, problem

SMALL = {"branching": 4, "max_leaf_size": 5}
SCORES = ("l1-hinge", "l2-hinge", "l3-hinge", "sigmoid", "log-sigmoid", "raw")


@pytest.fixture(scope="module")
def data():
    return problem(n=200, n_features=60, n_labels=80)


@pytest.fixture(scope="module")
def model(data):
    return XRLinear(**SMALL).fit(*data)


def precision(predictions, Y):
    hits = np.take_along_axis(Y.toarray(), predictions.labels[:, :1], axis=1)
    return float(hits.mean())


# --- it learns, and repeats


def test_it_learns_what_there_is_to_learn(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X[:150], Y[:150])
    assert precision(model.predict(X[:150]), Y[:150]) > 0.9
    assert precision(model.predict(X[150:]), Y[150:]) > 10 * Y.mean()


@pytest.mark.parametrize("weights", ["float32", "float16", "int8"])
@pytest.mark.parametrize("negatives", ["sibling", "matched", "both"])
def test_one_thread_and_two_make_the_same_model(data, weights, negatives):
    given = {**SMALL, "weights": weights, "negatives": negatives}
    one, two = (XRLinear(**given, n_jobs=n).fit(*data) for n in (1, 2))
    assert one.tree_ == two.tree_
    assert_same_levels(one.levels_, two.levels_)
    assert_same_predictions(one.predict(data[0]), two.predict(data[0]))


def test_the_same_seed_makes_the_same_model_and_another_does_not(data):
    first, again, other = (
        XRLinear(**SMALL, random_state=random_state).fit(*data) for random_state in (3, 3, 4)
    )
    assert_same_levels(first.levels_, again.levels_)
    assert any(
        not np.array_equal(a.entry_value, b.entry_value)
        for a, b in zip(first.levels_, other.levels_, strict=True)
    )


@pytest.mark.parametrize("score", SCORES)
def test_a_batch_is_its_single_rows(data, score):
    X, Y = data
    model = XRLinear(**SMALL, score_function=score).fit(X, Y)
    batch = model.predict(X, top_k=8, beam_width=4)
    for i in range(0, X.shape[0], 7):
        assert_same_predictions(model.predict(X[[i]], top_k=8, beam_width=4), batch[[i]])


def test_predicting_changes_nothing(data, model):
    before = copy.deepcopy(model.levels_)
    first = model.predict(data[0])
    assert_same_predictions(model.predict(data[0]), first)
    assert_same_levels(model.levels_, before)


def test_fitting_leaves_the_callers_data_alone(data):
    X, Y = (matrix.copy() for matrix in data)
    arrays = [(m.data.copy(), m.indices.copy(), m.indptr.copy()) for m in (X, Y)]
    XRLinear(**SMALL, negatives="both").fit(X, Y, hard_negatives=Y[::-1])
    for matrix, before in zip((X, Y), arrays, strict=True):
        for array, expected in zip(
            (matrix.data, matrix.indices, matrix.indptr), before, strict=True
        ):
            np.testing.assert_array_equal(array, expected)


# --- scores


def test_scores_of_all_kinds_belong_to_their_ranges(data):
    X, Y = data
    found = {s: XRLinear(**SMALL, score_function=s).fit(X, Y).predict(X).scores for s in SCORES}
    for score in ("l1-hinge", "l2-hinge", "l3-hinge", "sigmoid"):
        assert found[score].min() >= 0
        assert found[score].max() <= 1
    assert found["log-sigmoid"].max() <= 0
    np.testing.assert_allclose(np.exp(found["log-sigmoid"]), found["sigmoid"], rtol=1e-5)


@pytest.mark.parametrize("weights", ["float16", "int8"])
def test_fewer_bits_cost_little(data, weights):
    X, Y = data
    full, small = (XRLinear(**SMALL, weights=w).fit(X, Y) for w in ("float32", weights))
    bytes_of = [sum(level.entry_value.nbytes for level in m.levels_) for m in (full, small)]
    assert bytes_of[1] * (2 if weights == "float16" else 4) == bytes_of[0]
    agree = full.predict(X, top_k=1).labels == small.predict(X, top_k=1).labels
    assert agree.mean() > 0.95


# --- options of predict


@pytest.mark.parametrize("beam_width", [1, 3, 10])
def test_no_beam_beats_the_full_one(data, model, beam_width):
    narrow, full = (model.predict(data[0], beam_width=w).scores for w in (beam_width, 10**6))
    assert (full >= narrow).all()


def test_more_labels_continue_the_fewer(data, model):
    short, long = (model.predict(data[0], top_k=k) for k in (3, 20))
    assert_same_predictions(short, long.top(3))


@pytest.mark.parametrize("labels", [[5], [0, 79, 40], range(80), []])
def test_only_the_labels_asked_for(data, model, labels):
    X, n_leaves = data[0], model.tree_.n_leaves
    whole = model.predict(X, top_k=80, beam_width=n_leaves)
    found = model.predict(X, top_k=10, beam_width=n_leaves, labels=labels)
    for i in range(X.shape[0]):
        kept = np.isin(whole.labels[i], np.array(labels, int))
        expected = whole.labels[i][kept][:10]
        assert found.labels[i].tolist() == [*expected, *[-1] * (10 - len(expected))]
        np.testing.assert_array_equal(found.scores[i][: len(expected)], whole.scores[i][kept][:10])


@pytest.mark.parametrize("further", [False, True])
def test_leaves_keep_smaller_weights_than_the_levels_above(data, further):
    X, Y = data

    def levels(**solver):
        model = XRLinear(**SMALL, weights="float32", solver=SolverConfig(**solver)).fit(X, Y)
        return (model.partial_fit(X[:50], Y[:50]) if further else model).levels_

    for level in levels(leaf_threshold=1):
        assert np.abs(level.entry_value).min() > 0.1
    *above, leaves = levels(leaf_threshold=0.5)
    assert min(np.abs(level.entry_value).min() for level in above) > 0.1
    assert 0.05 < np.abs(leaves.entry_value).min() < 0.1


def test_scores_below_the_threshold_are_left_out(data, model):
    whole = model.predict(data[0], top_k=10)
    threshold = float(np.median(whole.scores[whole.labels >= 0]))
    found = model.predict(data[0], top_k=10, threshold=threshold)
    kept = whole.scores >= threshold
    assert kept.any()
    assert not kept.all()
    np.testing.assert_array_equal(found.labels, np.where(kept, whole.labels, -1))
    np.testing.assert_array_equal(found.scores, np.where(kept, whole.scores, -np.inf))


def test_asking_for_more_than_exists_gives_what_exists(data, model):
    X = data[0]
    whole = model.predict(X, top_k=80, beam_width=model.tree_.n_leaves)
    assert_same_predictions(model.predict(X, top_k=10**9, beam_width=10**9), whole)
    np.testing.assert_array_equal(np.sort(whole.labels, axis=1), [np.arange(80)] * X.shape[0])


def test_no_rows_give_no_predictions(data, model):
    assert model.predict(data[0][:0], top_k=3).labels.shape == (0, 3)


# --- what it is taught


def test_dense_x_is_sparse_x(data, model):
    X, Y = data
    dense = XRLinear(**SMALL).fit(X.toarray(), Y)
    assert_same_levels(dense.levels_, model.levels_)
    assert_same_predictions(dense.predict(X.toarray()), model.predict(X))


def test_sparse_and_dense_features_side_by_side(data):
    X, Y = data
    embedding = np.random.default_rng(0).standard_normal((X.shape[0], 8)).astype(np.float32)
    both = sp.hstack([X, sp.csr_array(embedding)], format="csr")
    model = XRLinear(**SMALL).fit(both, Y)
    assert model.n_features_in_ == X.shape[1] + 8
    assert precision(model.predict(both), Y) > 0.9
    assert_same_predictions(model.predict(both), model.predict(np.hstack([X.toarray(), embedding])))


def test_matrices_of_both_kinds_and_dense_y(data, model):
    X, Y = data
    for other in (sp.csr_matrix(Y), Y.toarray(), Y.astype(bool), 7 * Y):
        assert_same_levels(XRLinear(**SMALL).fit(sp.csr_matrix(X), other).levels_, model.levels_)


def test_weight_zero_leaves_an_instance_out(data):
    X, Y = data
    tree = LabelTree.from_leaves(np.array_split(np.arange(80), 8))
    weight = np.ones(200)
    weight[:80] = 0
    hard = Y[::-1]  # of each instance, the labels of another
    left_out = XRLinear(tree=tree).fit(X, Y, sample_weight=weight, hard_negatives=hard)
    absent = XRLinear(tree=tree).fit(X[80:], Y[80:], hard_negatives=hard[80:])
    assert_same_levels(left_out.levels_, absent.levels_)


def test_sample_weight_two_is_the_row_twice(data):
    X, Y = data
    tree = LabelTree.from_leaves(np.array_split(np.arange(80), 8))
    solver = SolverConfig(epsilon=1e-5, max_epochs=20_000)
    rows = np.r_[np.arange(200), np.arange(50)]
    given = {"tree": tree, "solver": solver, "weights": "float32", "score_function": "raw"}
    weighted = XRLinear(**given).fit(X, Y, sample_weight=np.bincount(rows))
    repeated = XRLinear(**given).fit(X[rows], Y[rows])
    np.testing.assert_allclose(
        weighted.predict(X, beam_width=8).scores,
        repeated.predict(X, beam_width=8).scores,
        atol=5e-3,
    )


def test_a_label_of_weight_zero_is_not_learned(data):
    X, Y = data
    weight = np.ones(80)
    weight[7] = 0
    model = XRLinear(**SMALL).fit(X, Y, label_weight=weight)
    leaf = model.levels_[-1]
    slot = int(np.flatnonzero(model.tree_.slot_labels == 7)[0])
    cluster = int(model.tree_.leaf_of_label()[7])
    first = int(model.tree_.offsets[-1][cluster])
    chunk = leaf.chunk(cluster, first, int(np.diff(model.tree_.offsets[-1])[cluster]))
    assert slot - first not in chunk.entry_child
    assert leaf.bias[slot] == pytest.approx(0, abs=1e-6)


def test_hard_negatives_teach_clusters_they_would_not_have_met(data):
    X, Y = data
    tree = LabelTree.from_leaves([range(40), range(40, 80)])
    plain = XRLinear(tree=tree).fit(X, Y)
    hard = np.zeros(Y.shape)
    hard[:, 0] = 1  # every instance looks like label 0, and so teaches its leaf
    taught = XRLinear(tree=tree).fit(X, Y, hard_negatives=hard)
    assert taught.levels_[1].seen.tolist() == [200, plain.levels_[1].seen[1]]
    np.testing.assert_array_equal(taught.levels_[0].entry_value, plain.levels_[0].entry_value)
    none = XRLinear(tree=tree).fit(X, Y, hard_negatives=sp.csr_array(Y.shape))
    assert_same_levels(none.levels_, plain.levels_)


def test_negatives_say_who_teaches_a_cluster(data):
    X, Y = data
    tree = LabelTree.from_leaves(np.array_split(np.arange(80), 8))
    seen = {
        negatives: XRLinear(tree=tree, negatives=negatives, beam_width=3).fit(X, Y).levels_[1].seen
        for negatives in ("sibling", "matched", "both")
    }
    carried = (Y @ tree.label_clusters(1)).toarray() > 0
    np.testing.assert_array_equal(seen["sibling"], carried.sum(axis=0))
    assert seen["matched"].sum() == 3 * 200
    assert (seen["both"] >= np.maximum(seen["sibling"], seen["matched"])).all()
    assert seen["both"].sum() < seen["sibling"].sum() + seen["matched"].sum()


def test_a_tree_of_ones_own(data):
    X, Y = data
    tree = LabelTree.from_hierarchy(
        [[list(range(10)), list(range(10, 30))], [list(range(30, 50)), list(range(50, 80))]]
    )
    model = XRLinear(tree=tree).fit(X, Y)
    assert model.tree_ == tree
    assert len(model.levels_) == tree.depth
    assert precision(model.predict(X), Y) > 0.8


def test_a_tree_from_other_embeddings(data):
    X, Y = data
    labels = np.eye(80, dtype=np.float32)
    model = XRLinear(**SMALL).fit(X, Y, label_embeddings=labels)
    assert model.tree_.n_labels == 80
    assert model.tree_ != XRLinear(**SMALL).fit(X, Y).tree_


def test_a_warm_start_keeps_the_tree(data):
    X, Y = data
    model = XRLinear(**SMALL, warm_start=True).fit(X[:100], Y[:100])
    tree = model.tree_
    assert model.fit(X, Y).tree_ is tree


# --- kept and used elsewhere


@pytest.mark.parametrize("weights", ["float32", "float16", "int8"])
def test_saved_and_loaded_it_predicts_the_same(data, tmp_path, weights):
    X, Y = data
    model = XRLinear(**SMALL, weights=weights, solver=SolverConfig(cost=2.0)).fit(X, Y)
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model", verify=True)
    assert isinstance(again, XRLinear)
    assert again.solver == SolverConfig(cost=2.0)
    assert again.tree_ == model.tree_
    assert_same_levels(again.levels_, model.levels_)
    assert_same_predictions(again.predict(X, top_k=10), model.predict(X, top_k=10))


def test_a_fitted_model_can_be_copied_and_sent(data, model):
    expected = model.predict(data[0])
    assert_same_predictions(copy.deepcopy(model).predict(data[0]), expected)
    assert_same_predictions(pickle.loads(pickle.dumps(model)).predict(data[0]), expected)


def test_scikit_learn_clones_its_settings(model):
    twin = clone(model.set_params(solver=SolverConfig(cost=3.0)))
    model.set_params(solver=None)
    assert twin.get_params()["branching"] == 4
    assert twin.solver == SolverConfig(cost=3.0)
    assert not hasattr(twin, "tree_")


WORDS = ["cat", "dog", "horse", "owl", "barn", "house", "wood"]
TEXTS = [f"{who} {where} {i}" for i in range(3) for who in WORDS[:4] for where in WORDS[4:]]
TEXT_LABELS = sp.csr_array([[float(word in text) for word in WORDS] for text in TEXTS])


def test_behind_features_in_a_pipeline():
    pipeline = make_pipeline(TfidfFeatures(), XRLinear(branching=2, max_leaf_size=2, beam_width=4))
    predictions = pipeline.fit(TEXTS, TEXT_LABELS).predict(["an owl in the wood"], top_k=2)
    assert sorted(predictions.labels[0].tolist()) == [3, 6]


def test_in_a_grid_search():
    def score(estimator, texts, Y):
        return precision_at_k(estimator.predict(texts), Y, k=1)

    pipeline = make_pipeline(TfidfFeatures(), XRLinear(branching=2, max_leaf_size=2))
    grid = {
        "xrlinear__beam_width": [1, 4],
        "xrlinear__solver": [SolverConfig(cost=1e-6), SolverConfig()],
    }
    search = GridSearchCV(pipeline, grid, scoring=score, cv=3, error_score="raise")
    search.fit(TEXTS, TEXT_LABELS)
    assert search.best_params_["xrlinear__solver"] == SolverConfig()
    assert search.best_score_ > 0.9
