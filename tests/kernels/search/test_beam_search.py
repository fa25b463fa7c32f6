"""Beam search against a slow search over dense weights, and against all paths."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from multitudes.kernels.search import beam_search
from multitudes.kernels.search.beam_search import HINGE, RAW, SIGMOID
from multitudes.linear.search_index import SearchIndex, build_arrays
from tests.kernels.twins import trees as reference

from .dense_trees import SHAPES, dense_tree, whole_instances

SCORINGS = {"hinge": (HINGE, 1), "cubed hinge": (HINGE, 3), "raw": (RAW, 1)}


@pytest.fixture(params=SHAPES, ids=lambda name: name.replace(" ", "-"))
def given(request):
    return dense_tree(**SHAPES[request.param])


def found_by_kernel(given, X, *, beam_width, top_k, kind, power=1, allowed=None):
    """[(score, label), ...] of each instance, all instances in one block."""
    index = build_arrays(given.tree, given.levels, given.n_features)
    if allowed is not None:
        whole = SearchIndex(given.tree, given.levels, given.n_features)
        index = index._replace(block_mask=whole.allow(allowed))
    X = sp.csr_array(X)
    labels = np.full((X.shape[0], top_k), -7, np.int32)
    scores = np.full((X.shape[0], top_k), np.nan, np.float32)
    beam_search.search_block(
        X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, 0, index,
        beam_width, kind, power, labels, scores,
    )  # fmt: skip
    missing = labels == -1
    assert (scores[missing] == -np.inf).all()
    assert (np.diff(missing.astype(int), axis=1) >= 0).all()  # missing ones come last
    return [
        [(float(s), int(k)) for s, k in zip(*pair, strict=True) if k >= 0]
        for pair in zip(scores, labels, strict=True)
    ]


def found_by_twin(given, X, **options):
    return [
        reference.search(x, given.dense, given.tree.slot_labels, **options)
        for x in X.astype(np.float64)
    ]


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("beam_width", [1, 2, 3, 7])
def test_any_beam_is_the_twins(given, scoring, beam_width):
    X = whole_instances(12, given.n_features)
    kind, power = SCORINGS[scoring]
    options = {"beam_width": beam_width, "top_k": 6, "kind": kind, "power": power}
    assert found_by_kernel(given, X, **options) == found_by_twin(given, X, **options)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_a_beam_of_all_clusters_is_brute_force(given, scoring):
    X = whole_instances(12, given.n_features)
    kind, power = SCORINGS[scoring]
    n = given.tree.n_slots
    found = found_by_kernel(
        given, X, beam_width=given.tree.n_leaves, top_k=n, kind=kind, power=power
    )
    slots = given.tree.slot_labels
    assert found == [
        reference.brute_force(x, given.dense, slots, kind=kind, power=power)
        for x in X.astype(np.float64)
    ]


@pytest.mark.parametrize("top_k", [1, 2, 5, 50])
def test_pruning_changes_nothing(top_k):
    """Wide beams are visited in rounds, and full lists save visits; the twin visits everything."""
    given = dense_tree([[40], [6] * 40], seed=3)
    X = whole_instances(30, given.n_features, seed=3)
    options = {"beam_width": 40, "top_k": top_k, "kind": HINGE, "power": 2}
    assert found_by_kernel(given, X, **options) == found_by_twin(given, X, **options)


@pytest.mark.parametrize("stored", [np.float32, np.float16, np.int8])
def test_stored_numbers_score_alike(stored):
    given = dense_tree(**SHAPES["many children"], stored=stored)
    X = whole_instances(5, given.n_features)
    options = {"beam_width": 5, "top_k": 10, "kind": HINGE, "power": 1}
    assert found_by_kernel(given, X, **options) == found_by_twin(given, X, **options)


def test_sigmoid_scores_are_logarithms_of_the_product(given):
    X = whole_instances(12, given.n_features)
    options = {"beam_width": given.tree.n_leaves, "top_k": given.tree.n_slots, "kind": SIGMOID}
    by_kernel, by_twin = found_by_kernel(given, X, **options), found_by_twin(given, X, **options)
    for found, expected in zip(by_kernel, by_twin, strict=True):
        # Rounding may swap near-ties, so labels are matched before their scores are compared.
        scores, labels = zip(*sorted(found, key=lambda pair: pair[::-1]), strict=True)
        expected_scores, expected_labels = zip(
            *sorted(expected, key=lambda pair: pair[::-1]), strict=True
        )
        assert labels == expected_labels
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-5)


@pytest.mark.parametrize("margin", [-200.0, -20.0, 0.0, 20.0, 200.0])
def test_sigmoid_of_extreme_margins_neither_overflows_nor_tops_the_parent(margin):
    given = dense_tree([[1]], n_features=1, density=0.0)
    given.levels[0].bias[:] = margin
    x = np.ones((1, 1), np.float32)
    [[(score, _)]] = found_by_kernel(given, x, beam_width=1, top_k=1, kind=SIGMOID)
    assert score == pytest.approx(-np.logaddexp(0, -margin), rel=1e-6, abs=1e-9)
    assert score <= 0


def test_ties_go_to_the_smaller_label():
    given = dense_tree([[3], [4, 4, 4]], density=0.0)
    for level in given.levels:
        level.bias[:] = 0
    X = whole_instances(3, given.n_features)
    labels = [
        [label for _, label in row]
        for row in found_by_kernel(given, X, beam_width=3, top_k=5, kind=HINGE)
    ]
    assert labels == [[0, 1, 2, 3, 4]] * 3
    first = given.tree.labels_of_leaf(0).tolist()
    narrow = found_by_kernel(given, X, beam_width=1, top_k=9, kind=HINGE)
    assert [[label for _, label in row] for row in narrow] == [first] * 3


@pytest.mark.parametrize("scoring", SCORINGS)
def test_a_block_is_its_single_instances(given, scoring):
    X = whole_instances(40, given.n_features)
    kind, power = SCORINGS[scoring]
    options = {"beam_width": 4, "top_k": 7, "kind": kind, "power": power}
    alone = [found_by_kernel(given, X[[i]], **options)[0] for i in range(len(X))]
    assert found_by_kernel(given, X, **options) == alone


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("beam_width", [1, 3, 40])
def test_restricted_to_some_labels(given, seed, beam_width):
    n_labels = given.tree.n_labels
    allowed = np.random.default_rng(seed).permutation(n_labels)[: seed * n_labels // 2 + 1]
    X = whole_instances(6, given.n_features)
    options = {"beam_width": beam_width, "top_k": 6, "kind": HINGE, "power": 2, "allowed": allowed}
    assert found_by_kernel(given, X, **options) == found_by_twin(given, X, **options)


@drawn(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=12, unique_by=lambda p: p[1]
    ),
    st.integers(1, 6),
)
@settings(max_examples=100, deadline=None)
def test_insert_keeps_the_best_in_order(candidates, size):
    ids, scores, count = np.full(size, -1, np.int32), np.full(size, np.nan, np.float32), 0
    for score, own in candidates:
        count = beam_search.insert(ids, scores, count, np.int32(own), np.float32(score))
    found = list(zip(scores[:count].tolist(), ids[:count].tolist(), strict=True))
    assert found == reference.best(candidates, size)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_visits_are_those_worth_making_by_cluster(n):
    rng = np.random.default_rng(n)
    width, n_clusters = 6, 5
    cluster = np.array([rng.permutation(n_clusters + 1)[:width] % n_clusters for _ in range(n)])
    score = -np.sort(rng.integers(0, 4, (n, width)), axis=1).astype(np.float32)
    count = rng.integers(0, width + 1, n)
    bar = np.full(n, -2, np.float32)
    instance, place = np.full((2, n * width), -1)
    visits = beam_search.order_visits(
        cluster.astype(np.int32), score, count, 1, 5, bar, np.empty(n_clusters + 1, np.int64),
        n_clusters, instance, place,
    )  # fmt: skip
    found = list(zip(instance[:visits].tolist(), place[:visits].tolist(), strict=True))
    expected = reference.order_visits(cluster, score, count, range(1, 5), bar)
    # A single instance is visited in the order of its beam; the order changes no result.
    assert (sorted(found) if n == 1 else found) == (sorted(expected) if n == 1 else expected)
