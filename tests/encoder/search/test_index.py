import numpy as np
import pytest

pytest.importorskip("torch")

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from multitudes.encoder.search.approximate import IndexConfig
from multitudes.encoder.search.index import PrototypeIndex, exact_top_k, exact_top_k_in_pieces
from multitudes.errors import ConfigError, DataError, MissingExtraError, StoreError
from multitudes.store import State
from multitudes.types import Predictions
from tests.encoder.vectors import unit

APPROXIMATE = ["hnsw", "ivf-pq"]


@pytest.fixture(scope="module")
def clustered():
    """Vectors (3000, 32) in 60 clusters, as label prototypes lie, and queries near some of them."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((60, 32))
    vectors = unit(centers[rng.integers(0, 60, 3000)] + 0.5 * rng.standard_normal((3000, 32)))
    queries = unit(vectors[:200] + 0.1 * rng.standard_normal((200, 32)))
    return vectors, queries


@pytest.fixture(scope="module")
def built(clustered):
    """The index of a kind, built once; tests leave it as it is."""
    made = {}

    def index(kind):
        if kind != "flat":
            pytest.importorskip("faiss")
        if kind not in made:
            made[kind] = PrototypeIndex(clustered[0], IndexConfig(kind=kind))
        return made[kind]

    return index


def recall(found, truth):
    hits = [np.isin(own, best).mean() for own, best in zip(truth.labels, found.labels, strict=True)]
    return np.mean(hits)


def test_flat_finds_the_largest_inner_products(clustered):
    vectors, queries = clustered
    found = PrototypeIndex(vectors).search(queries, 10)
    order = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(found.labels, order)
    np.testing.assert_allclose(
        found.scores, np.take_along_axis(queries @ vectors.T, order, axis=1), rtol=1e-5
    )
    assert (found.labels.dtype, found.scores.dtype) == (np.int32, np.float32)
    assert found.n_labels == len(vectors)


@pytest.mark.parametrize("kind", APPROXIMATE)
def test_approximate_kinds_find_nearly_all_that_flat_finds(clustered, built, kind):
    vectors, queries = clustered
    truth = built("flat").search(queries, 10)
    found = built(kind).search(queries, 10)
    assert recall(found, truth) >= 0.95
    exact = np.take_along_axis(queries @ vectors.T, found.labels.astype(int), axis=1)
    np.testing.assert_allclose(found.scores, exact, rtol=1e-5)
    assert (np.diff(found.scores, axis=1) <= 0).all()


@pytest.mark.parametrize("kind", ["flat", *APPROXIMATE])
def test_saved_and_loaded_it_finds_the_same(clustered, built, kind):
    queries, index = clustered[1], built(kind)
    state = index.to_state()
    frozen = {name: array.copy() for name, array in state.arrays.items()}
    for array in frozen.values():
        array.flags.writeable = False
    again = PrototypeIndex.from_state(State(state.kind, state.config, frozen))
    expected, found = index.search(queries, 7), again.search(queries, 7)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("kind", ["flat", *APPROXIMATE])
def test_added_labels_get_the_next_ids_and_are_found(clustered, kind):
    vectors, _ = clustered
    if kind != "flat":
        pytest.importorskip("faiss")
    index = PrototypeIndex(vectors[:400], IndexConfig(kind=kind))
    index.search(vectors[:1], 1)
    index.add(vectors[400:500])
    found = index.search(vectors[400:500], 1)
    assert (found.labels[:, 0] == np.arange(400, 500)).mean() >= 0.95
    assert found.n_labels == len(index) == 500


def test_filtered_pairs_are_replaced_by_the_next_best(clustered):
    vectors, queries = clustered
    index = PrototypeIndex(vectors)
    wide = index.search(queries, 20)
    pairs = np.concatenate(
        [[(row, label) for label in wide.labels[row, :row]] for row in range(1, 6)]
    )
    pairs = np.random.default_rng(0).permutation(pairs)
    found = index.search(queries, 10, filter_pairs=pairs)
    for row in range(6):
        np.testing.assert_array_equal(found.labels[row], wide.labels[row, row : row + 10])
    np.testing.assert_array_equal(found.labels[6:], wide.labels[6:, :10])


def test_rows_are_searched_in_pieces_with_the_pairs_of_each(clustered, monkeypatch):
    vectors, queries = clustered
    index = PrototypeIndex(vectors)
    pairs = np.stack([np.arange(200), index.search(queries, 1).labels[:, 0]], axis=1)
    whole = index.search(queries, 5, filter_pairs=pairs)
    monkeypatch.setattr("multitudes.encoder.search.index.QUERIES_AT_ONCE", 33)
    pieces = index.search(queries, 5, filter_pairs=pairs)
    np.testing.assert_array_equal(pieces.labels, whole.labels)


def test_fewer_labels_than_asked_for_leave_places_empty():
    index = PrototypeIndex(np.eye(3, dtype=np.float32))
    found = index.search(np.eye(3, dtype=np.float32)[:2], 5, filter_pairs=[(0, 0)])
    assert found.labels.tolist() == [[1, 2, -1, -1, -1], [1, 0, 2, -1, -1]]
    assert found.scores[0].tolist() == [0, 0, -np.inf, -np.inf, -np.inf]


def test_labels_with_one_vector_are_ranked_by_id():
    vectors = np.tile(np.array([[0.6, 0.8]], np.float32), (50, 1))
    assert PrototypeIndex(vectors).search(vectors[:1], 3).labels.tolist() == [[0, 1, 2]]


def test_tensors_single_rows_and_no_rows_are_fine(clustered):
    vectors, queries = clustered
    index = PrototypeIndex(vectors)
    batch = index.search(torch.from_numpy(queries), 5)
    single = index.search(queries[3:4], 5)
    np.testing.assert_array_equal(single.labels, batch.labels[3:4])
    np.testing.assert_allclose(single.scores, batch.scores[3:4], rtol=1e-5)
    nothing = index.search(queries[:0], 5)
    assert isinstance(nothing, Predictions)
    assert nothing.labels.shape == (0, 5)


def test_auto_goes_by_the_number_of_labels(clustered):
    pytest.importorskip("faiss")
    vectors, _ = clustered
    limits = {"device": "cpu", "flat_up_to": 300, "hnsw_up_to": 400}
    for n, kind in [(300, "flat"), (400, "hnsw"), (401, "ivf-pq")]:
        index = PrototypeIndex(vectors[:n], IndexConfig(**limits))
        assert index.kind == kind


def test_approximate_kinds_name_the_extra_they_need(clustered, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(MissingExtraError, match="faiss is not installed: run  pip install"):
        PrototypeIndex(clustered[0], IndexConfig(kind="hnsw"))


@pytest.mark.parametrize(
    ("change", "value", "problem"),
    [
        ("links", 3000, "links must be from -1 to 2999, got 3000"),
        ("links", -2, "links must be from -1"),
        ("levels", 0, "levels must be from 1"),
        ("levels", 100, "levels must be from 1"),
        ("offsets", 7, "offsets must rise from 0"),
        ("entry", 3000, "the walk must start on the highest level"),
    ],
)
def test_a_graph_with_links_that_lead_nowhere_is_refused(built, change, value, problem):
    state = built("hnsw").to_state()
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    arrays[change][0] = value
    with pytest.raises(StoreError, match=problem):
        PrototypeIndex.check_state(State(state.kind, state.config, arrays))


def test_a_link_to_a_label_that_is_not_on_that_level_is_refused(built):
    state = built("hnsw").to_state()
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    high = int(np.argmax(arrays["levels"] > 1))
    low = int(np.argmax(arrays["levels"] == 1))
    arrays["links"][int(arrays["offsets"][high]) + 2 * 32] = low  # the first link above the ground
    with pytest.raises(StoreError, match="a label that is not on its level"):
        PrototypeIndex.check_state(State(state.kind, state.config, arrays))


@pytest.mark.parametrize("kind", APPROXIMATE)
def test_a_state_that_lacks_an_array_is_refused(built, kind):
    state = built(kind).to_state()
    arrays = {"vectors": state.arrays["vectors"]}
    with pytest.raises(StoreError, match="the array '(levels|centers|code_centers|entry)' is not"):
        PrototypeIndex.check_state(State(state.kind, state.config, arrays))


def test_bad_input_is_named(clustered):
    vectors, _ = clustered
    index = PrototypeIndex(vectors)
    with pytest.raises(DataError, match="queries have 5 dimensions, the index has 32"):
        index.search(np.zeros((2, 5)), 3)
    with pytest.raises(DataError, match="row 1 of queries has a NaN"):
        index.search(np.where(np.arange(2)[:, None] == 1, np.nan, vectors[:2]), 3)
    with pytest.raises(DataError, match="must be a .n, d. array"):
        PrototypeIndex(np.zeros((0, 4)))
    with pytest.raises(ConfigError, match="top_k must be a whole number >= 1, got 0"):
        index.search(vectors[:1], 0)
    with pytest.raises(DataError, match="instances go to 0 and labels to 2999"):
        index.search(vectors[:1], 1, filter_pairs=[(1, 0)])


def test_ivf_pq_says_how_many_labels_it_needs():
    pytest.importorskip("faiss")
    with pytest.raises(ConfigError, match="at least 256 labels, got 9: use kind='flat'"):
        PrototypeIndex(np.eye(9), IndexConfig(kind="ivf-pq"))


def by_sorting(queries, vectors, top_k):
    scores = queries @ vectors.T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top_k]
    return np.take_along_axis(scores, order, axis=1), order


@given(
    n=st.integers(0, 9),
    n_labels=st.integers(1, 40),
    dim=st.integers(1, 4),
    n_values=st.integers(1, 4),
    data=st.data(),
)
def test_the_best_come_first_and_ties_go_to_the_smaller_id(n, n_labels, dim, n_values, data):
    top_k = data.draw(st.integers(1, n_labels))
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    # Small whole numbers: many ties, and products that are exact in any order.
    queries = rng.integers(0, n_values, (n, dim)).astype(np.float32)
    vectors = rng.integers(0, n_values, (n_labels, dim)).astype(np.float32)
    scores, labels = exact_top_k(torch.from_numpy(queries), torch.from_numpy(vectors), top_k)
    expected_scores, expected_labels = by_sorting(queries, vectors, top_k)
    np.testing.assert_array_equal(scores, expected_scores)
    np.testing.assert_array_equal(labels, expected_labels)


def test_the_size_of_the_pieces_changes_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    queries = torch.from_numpy(rng.integers(0, 5, (50, 6)).astype(np.float32))
    vectors = torch.from_numpy(rng.integers(0, 5, (30, 6)).astype(np.float32))
    whole = exact_top_k(queries, vectors, 7)
    monkeypatch.setattr("multitudes.encoder.search.index.CELLS_ON_CPU", 100)
    pieces = exact_top_k(queries, vectors, 7)
    assert torch.equal(whole[0], pieces[0])
    assert torch.equal(whole[1], pieces[1])


def test_scores_stay_float32_inside_autocast():
    queries, vectors = torch.randn(3, 4), torch.randn(5, 4)
    with torch.autocast("cpu", torch.bfloat16):
        scores, _ = exact_top_k(queries, vectors, 2)
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores, exact_top_k(queries, vectors, 2)[0])


@pytest.mark.parametrize("labels_at_once", [1, 7, 25, 100])
def test_labels_in_pieces_give_the_same_with_ties_to_the_smaller_id(labels_at_once):
    vectors = np.random.default_rng(0).integers(-2, 3, (30, 2)).astype(np.float32)
    queries = torch.from_numpy(vectors[:6])
    found = exact_top_k_in_pieces(
        queries, vectors, 8, device=torch.device("cpu"), labels_at_once=labels_at_once
    )
    expected = exact_top_k(queries, torch.from_numpy(vectors), 8)
    torch.testing.assert_close(found[0], expected[0])
    assert torch.equal(found[1], expected[1])
