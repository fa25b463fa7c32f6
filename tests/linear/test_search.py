"""SearchIndex: trained weights searched in blocks, on threads, among some labels only."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels import LabelTree, build_tree, pifa
from multitudes.linear import search_index
from multitudes.linear.level_weights import Chunk, LevelWeights
from multitudes.linear.scoring import scoring
from multitudes.linear.search_index import SearchIndex, block_masks, padded
from multitudes.linear.xr_linear import XRLinear
from tests.kernels.twins import trees as reference

from .problems import dense, problem

SCORES = ("l1-hinge", "l3-hinge", "sigmoid", "log-sigmoid", "raw")


@pytest.fixture(scope="module")
def data():
    return problem(n=150, n_features=40, n_labels=70)


@pytest.fixture(scope="module", params=["float32", "float16", "int8"])
def model(request, data):
    return XRLinear(branching=4, max_leaf_size=5, weights=request.param).fit(*data)


def dense_levels(model):
    """The model's weights, as stored, for the slow search."""
    return [
        reference.Level(offsets, dense(level, offsets, model.n_features_in_), level.bias)
        for level, offsets in zip(model.levels_, model.tree_.offsets, strict=True)
    ]


def all_scores(model, X, **options):
    """Dense (n, n_labels) scores of a search that keeps everything."""
    index = SearchIndex(model.tree_, model.levels_, model.n_features_in_)
    width = {"top_k": model.n_labels_, "beam_width": model.tree_.n_leaves}
    labels, scores = index.search(X, **width, **options)
    assert (np.diff(scores, axis=1) <= 0).all()
    out = np.empty_like(scores)
    np.put_along_axis(out, labels, scores, axis=1)
    return out


@pytest.mark.parametrize("score", SCORES)
def test_all_clusters_are_brute_force(model, data, score):
    X, rule = data[0][:20], scoring(score)
    levels, slots = dense_levels(model), model.tree_.slot_labels
    found = all_scores(model, X, scoring=rule)
    for x, row in zip(X.toarray().astype(np.float64), found, strict=True):
        ranked = reference.brute_force(x, levels, slots, kind=rule.kind, power=rule.power)
        expected = np.empty(model.n_labels_)
        expected[[label for _, label in ranked]] = [score for score, _ in ranked]
        np.testing.assert_allclose(row, rule.finish(expected), rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("beam_width", [1, 3, 9])
def test_any_beam_is_the_slow_search(model, data, score, beam_width):
    X, rule = data[0][:20], scoring(score)
    index = SearchIndex(model.tree_, model.levels_, model.n_features_in_)
    labels, scores = index.search(X, top_k=4, beam_width=beam_width, scoring=rule)
    levels, slots = dense_levels(model), model.tree_.slot_labels
    for i, x in enumerate(X.toarray().astype(np.float64)):
        expected = reference.search(
            x, levels, slots, beam_width=beam_width, top_k=4, kind=rule.kind, power=rule.power
        )
        np.testing.assert_allclose(
            scores[i], rule.finish(np.array([s for s, _ in expected])), rtol=2e-4, atol=1e-6
        )
        assert labels[i, 0] == expected[0][1]


@pytest.mark.parametrize("n", [0, 1, 16, 17, 150])
def test_threads_and_blocks_change_nothing(model, data, n, monkeypatch):
    X = data[0][:n]
    index = SearchIndex(model.tree_, model.levels_, model.n_features_in_)
    options = {"top_k": 7, "beam_width": 5, "scoring": scoring("l3-hinge")}
    one = index.search(X, **options)
    with ThreadTeam(2) as team:
        two = index.search(X, team=team, **options)
        monkeypatch.setattr(search_index, "BLOCK", 11)
        small = index.search(X, team=team, **options)
    assert one[0].shape == (n, 7)
    for other in (two, small):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_int64_indices_find_the_same(model, data):
    X = data[0][:20].copy()
    index = SearchIndex(model.tree_, model.levels_, model.n_features_in_)
    options = {"top_k": 7, "beam_width": 5, "scoring": scoring("l3-hinge")}
    expected = index.search(X, **options)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    np.testing.assert_array_equal(index.search(X, **options)[0], expected[0])


@pytest.mark.parametrize("score", SCORES)
def test_missing_labels_score_minus_infinity(model, data, score):
    index = SearchIndex(model.tree_, model.levels_, model.n_features_in_)
    labels, scores = index.search(data[0][:30], top_k=20, beam_width=1, scoring=scoring(score))
    missing = labels < 0
    assert missing.any(axis=1).all()
    assert (scores[missing] == -np.inf).all()
    assert np.isfinite(scores[~missing]).all()


def test_fewer_levels_search_clusters(model, data):
    index = SearchIndex(model.tree_, model.levels_[:1], model.n_features_in_)
    n_clusters = model.tree_.n_clusters(1)
    labels, _ = index.search(
        data[0][:5], top_k=n_clusters, beam_width=n_clusters, scoring=scoring("raw")
    )
    np.testing.assert_array_equal(np.sort(labels, axis=1), [np.arange(n_clusters)] * 5)


def test_empty_leaves_take_no_place_in_the_beam(data):
    """A leaf that lost its labels may still score best."""
    X, Y = data
    tree = LabelTree.from_leaves([range(35), [], range(35, 70)])
    model = XRLinear(tree=tree).fit(X, Y)
    model.levels_[0].bias[1] = 100
    labels = model.predict(X, top_k=3, beam_width=1).labels
    assert (labels >= 0).all()


def test_only_allowed_labels_are_found(model, data):
    index = SearchIndex(model.tree_, model.levels_, model.n_features_in_)
    whole = all_scores(model, data[0], scoring=scoring("l3-hinge"))
    allowed = np.array([3, 50, 7, 8])
    labels, scores = index.search(
        data[0], top_k=6, beam_width=model.tree_.n_leaves, scoring=scoring("l3-hinge"),
        allowed=index.allow(allowed),
    )  # fmt: skip
    assert (np.sort(labels[:, :4], axis=1) == np.sort(allowed)).all()
    assert (labels[:, 4:] == -1).all()
    np.testing.assert_array_equal(scores[:, :4], np.take_along_axis(whole, labels[:, :4], axis=1))


def test_a_narrow_beam_follows_allowed_labels(model, data):
    """The beam holds only clusters that lead to an allowed label, so one is always found."""
    index = SearchIndex(model.tree_, model.levels_, model.n_features_in_)
    for label in (0, 41, 69):
        labels, _ = index.search(
            data[0], top_k=2, beam_width=1, scoring=scoring("l3-hinge"),
            allowed=index.allow([label]),
        )  # fmt: skip
        assert (labels == [label, -1]).all()


def test_foreign_label_ids_are_refused(model):
    with pytest.raises(DataError, match="labels must be ids from 0 to 69, got 70"):
        model._index.allow([70])


def test_an_index_can_be_copied_and_sent(model, data):
    index = SearchIndex(model.tree_, model.levels_, model.n_features_in_)
    options = {"top_k": 3, "beam_width": 5, "scoring": scoring("l3-hinge")}
    expected = index.search(data[0], **options)  # threads have left their maps
    again = pickle.loads(pickle.dumps(index))
    np.testing.assert_array_equal(again.search(data[0], **options)[1], expected[1])


def test_bytes_are_those_of_the_arrays(model):
    arrays = [a for a in model._index.arrays if isinstance(a, np.ndarray)]
    assert model._index.nbytes == sum(a.nbytes for a in arrays)


def test_more_children_than_16_bits_count():
    n = (1 << 16) + 20
    chunk = Chunk(
        np.array([1], np.int32),
        np.array([0, 2]),
        np.array([7, n - 1], np.int32),
        np.array([1, 2], np.float32),
        np.zeros(n, np.float32),
    )
    level = LevelWeights.from_chunks([chunk], np.ones(1, np.int64))
    index = SearchIndex(LabelTree.flat(n), [level], 2)
    X = sp.csr_array(np.array([[0, 1]], np.float32))
    labels, scores = index.search(X, top_k=3, beam_width=1, scoring=scoring("raw"))
    assert labels.tolist() == [[n - 1, 7, 0]]
    assert scores.tolist() == [[2, 1, 0]]


def test_numbers_are_padded_to_whole_blocks():
    values = [np.arange(1, 18, dtype=np.float32), np.array([50], np.float32)]
    out = padded(values, np.array([17, 0, 1]))
    assert out.shape == (48,)
    assert out[:17].tolist() == list(range(1, 18))
    assert out[17:32].tolist() == [0] * 15
    assert out[32:].tolist() == [50] + [0] * 15


def test_masks_mark_children_by_block():
    marked = np.zeros(20, bool)
    marked[[0, 15, 16, 19]] = True
    assert block_masks(np.array([0, 17, 17, 20]), marked).tolist() == [0b1000000000000001, 1, 0b100]


def test_the_tree_of_the_model_may_be_built_beforehand(data):
    X, Y = data
    tree = build_tree(pifa(X, Y), branching=4, max_leaf_size=5)
    given, built = XRLinear(tree=tree), XRLinear(branching=4, max_leaf_size=5)
    np.testing.assert_array_equal(
        given.fit(X, Y).predict(X).labels, built.fit(X, Y).predict(X).labels
    )
