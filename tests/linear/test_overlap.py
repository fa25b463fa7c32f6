"""Trees in which labels overlap: copies of a label become one before the top k is cut."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import ConfigError
from multitudes.labels import LabelTree
from multitudes.linear import XRLinear
from multitudes.linear.level_weights import LevelWeights
from multitudes.linear.scoring import scoring
from multitudes.linear.search_index import SearchIndex
from multitudes.linear.tasks import SolverConfig

from .problems import problem

MERGES = ("mean", "max", "sum")


def overlapping(model, random_state=0, copies=2):
    """The model's tree with every label in up to `copies` more leaves, at random."""
    rng = np.random.default_rng(random_state)
    tree = model.tree_
    assignment = tree.label_clusters(tree.depth - 1).toarray()
    for label in range(tree.n_labels):
        assignment[label, rng.integers(0, tree.n_leaves, rng.integers(0, copies + 1))] = 1
    return tree.with_leaves(sp.csr_array(assignment))


@pytest.fixture(scope="module")
def data():
    return problem(n=150, n_features=40, n_labels=90)


@pytest.fixture(scope="module", params=["l3-hinge", "sigmoid", "log-sigmoid", "raw"])
def model(request, data):
    settings = {"branching": 4, "max_leaf_size": 6, "score_function": request.param}
    first = XRLinear(**settings).fit(*data)
    return XRLinear(**settings, tree=overlapping(first)).fit(*data)


def slowly(model, X, beam_width, merge):
    """(n, n_labels) merged scores of the copies that each instance reaches; nan where none."""
    tree = model.tree_
    every_copy = LabelTree(tree.offsets, np.arange(tree.n_slots, dtype=np.int32), tree.n_slots)
    rule = scoring(model.score_function)
    index = SearchIndex(every_copy, model.levels_, model.n_features_in_)
    slots, scores = index.search(X, top_k=tree.n_slots, beam_width=beam_width, scoring=rule)
    if model.score_function == "log-sigmoid":
        scores = np.exp(scores)  # copies are averaged as probabilities
    out = np.full((X.shape[0], tree.n_labels), np.nan)
    for i in range(X.shape[0]):
        reached = slots[i] >= 0
        labels = tree.slot_labels[slots[i][reached]]
        for label in np.unique(labels):
            own = scores[i][reached][labels == label].astype(np.float64)
            out[i, label] = {"mean": own.mean(), "max": own.max(), "sum": own.sum()}[merge]
    return np.log(out) if model.score_function == "log-sigmoid" else out


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("beam_width", [1, 3, 10_000])
def test_same_as_scoring_every_copy(model, data, merge, beam_width):
    X = data[0][:40]
    beam_width = min(beam_width, model.tree_.n_leaves)
    expected = slowly(model, X, beam_width, merge)
    found = model.predict(X, top_k=4, beam_width=beam_width, merge=merge)
    for i in range(X.shape[0]):
        best = np.sort(expected[i][~np.isnan(expected[i])])[::-1][:4]
        kept = found.labels[i] >= 0
        assert len(set(found.labels[i][kept])) == kept.sum()  # no label twice
        np.testing.assert_allclose(found.scores[i][kept], best, rtol=1e-4)
        np.testing.assert_allclose(
            expected[i, found.labels[i][kept]], found.scores[i][kept], rtol=1e-4
        )


@pytest.mark.parametrize("top_k", [1, 2, 3, 5, 8])
def test_copies_with_one_and_the_same_score_are_not_lost(top_k):
    """Their mean is their score, and rounding must not lift the bound on it above."""
    X, Y = problem(n=600, n_features=60, n_labels=8)
    every = np.arange(8)
    model = XRLinear(tree=LabelTree.from_leaves([every, every])).fit(X, Y)
    plain = XRLinear(tree=LabelTree.from_leaves([every])).fit(X, Y)
    ranker = plain.levels_[-1].chunk(0, 0, 8)
    twice = LevelWeights.from_chunks([ranker, ranker], np.array([600, 600]))
    levels = [model.levels_[0], twice.converted("float16", model.tree_.offsets[-1])]
    model._set_learned(model.tree_, levels, X.shape[1])
    found = model.predict(X, top_k=top_k)
    assert (found.labels >= 0).all()
    np.testing.assert_array_equal(found.labels, model.predict(X, top_k=8).labels[:, :top_k])


def test_batch_equals_single_rows(model, data):
    X = data[0]
    batch = model.predict(X, top_k=5)
    for i in range(0, X.shape[0], 7):
        single = model.predict(X[[i]], top_k=5)
        np.testing.assert_array_equal(single.labels[0], batch.labels[i])
        np.testing.assert_array_equal(single.scores[0], batch.scores[i])


def test_one_thread_equals_two(model, data):
    one, two = (model.set_params(n_jobs=n).predict(data[0], top_k=7) for n in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.scores, two.scores)


def test_only_some_labels(model, data):
    allowed = [3, 11, 40, 41, 77]
    found = model.predict(data[0], top_k=5, labels=allowed, beam_width=model.tree_.n_leaves)
    everything = model.predict(
        data[0], top_k=model.n_labels_, beam_width=model.tree_.n_leaves
    ).to_csr()
    for i, (labels, scores) in enumerate(zip(found.labels, found.scores, strict=True)):
        assert set(labels[labels >= 0]) == set(allowed)
        np.testing.assert_allclose(scores, everything[[i]].toarray()[0, labels], rtol=1e-6)


def test_a_copy_learns_from_all_instances_of_its_label(data):
    """A copy's positives are its label's: in a tree of two equal leaves both rankers agree."""
    X, Y = data
    n_labels = Y.shape[1]
    tree = LabelTree.from_leaves([np.arange(n_labels), np.arange(n_labels)], n_labels=n_labels)
    model = XRLinear(tree=tree, weights="float32", solver=SolverConfig(epsilon=0.1)).fit(X, Y)
    first, second = (model.levels_[1].chunk(c, c * n_labels, n_labels) for c in (0, 1))
    np.testing.assert_allclose(first.bias, second.bias, atol=0.05)
    assert len(first.row_feature) == len(second.row_feature)


def test_a_model_with_overlap_can_be_copied_and_sent(model, data):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data[0]).labels, model.predict(data[0]).labels)


def test_explain_takes_the_best_copy(model, data):
    found = model.predict(data[0][[0]], top_k=1, merge="max", beam_width=model.tree_.n_leaves)
    explanation = model.explain(data[0][[0]], int(found.labels[0, 0]))
    assert explanation.score == pytest.approx(found.scores[0, 0], rel=1e-3)


def test_unknown_merge_is_named(model, data):
    with pytest.raises(ConfigError, match="merge must be one of .*'mean'.*, got 'median'"):
        model.predict(data[0], merge="median")
