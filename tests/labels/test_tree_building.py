"""Trees built from label embeddings: balance, determinism, quality, odd input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from multitudes.errors import ConfigError, DataError
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels import LabelTree, build_tree, node_splitting, tree_building
from multitudes.labels.split_plan import plan_splits
from tests.kernels.twins import clustering as reference


def embeddings(n=300, n_features=80, random_state=0, density=0.1):
    matrix = sp.random_array((n, n_features), density=density, rng=random_state, format="csr")
    lengths = np.sqrt(matrix.multiply(matrix).sum(axis=1))
    return sp.csr_array(matrix.multiply(1 / np.maximum(lengths, 1e-9)[:, None]), dtype=np.float32)


def similarity_to_leaf(rows, tree):
    """Mean over labels of the cosine to their leaf's centroid."""
    sums = tree.label_clusters(tree.depth - 1).T @ rows
    return float(np.sqrt(sums.multiply(sums).sum(axis=1)).sum() / rows.shape[0])


@pytest.fixture
def tiny_large_nodes(monkeypatch):
    """Treat nodes of more than a few values as large, so that small data takes that path."""
    monkeypatch.setattr(tree_building, "LARGE", 300)
    monkeypatch.setattr(tree_building, "SUBTREE", 1000)
    monkeypatch.setattr(node_splitting, "SAMPLE", 200)
    monkeypatch.setattr(node_splitting, "FEWEST_SAMPLED", 16)
    monkeypatch.setattr(node_splitting, "FEW", 20)


def test_the_shape_of_the_tree():
    tree = build_tree(embeddings(), branching=4, max_leaf_size=10)
    assert [tree.n_clusters(level) for level in range(tree.depth)] == [1, 2, 8, 32]
    assert set(np.diff(tree.offsets[-1])) == {9, 10}
    tree.validate()


def test_equals_the_slow_twin():
    rows = embeddings()
    tree = build_tree(rows, branching=2, max_leaf_size=20, min_weight=0, random_state=5)
    plan = plan_splits(300, (2, 2, 2, 2), random_state=5)
    order = reference.split_nodes(rows.toarray(), plan.nodes, 20, np.arange(300))
    np.testing.assert_array_equal(tree.slot_labels, order)


def test_sparse_and_dense_agree():
    rows = embeddings()
    sparse = build_tree(rows, max_leaf_size=7, min_weight=0)
    assert sparse == build_tree(rows.toarray(), max_leaf_size=7)


@pytest.mark.parametrize("dense", [False, True])
def test_one_thread_equals_two_and_five(dense, tiny_large_nodes):
    rows = embeddings(n=500)
    rows = rows.toarray() if dense else rows
    one, two, five = (build_tree(rows, max_leaf_size=5, n_jobs=n) for n in (1, 2, 5))
    assert one == two == five


@pytest.mark.parametrize("dense", [False, True])
def test_large_nodes_are_balanced_and_as_good(dense, tiny_large_nodes, monkeypatch):
    rows = embeddings(n=500)
    given_rows = rows.toarray() if dense else rows
    large = build_tree(given_rows, branching=2, max_leaf_size=10)
    monkeypatch.setattr(tree_building, "SUBTREE", 1 << 30)
    monkeypatch.setattr(tree_building, "LARGE", 1 << 30)
    small = build_tree(given_rows, branching=2, max_leaf_size=10)
    assert large != small  # it did take the other path
    np.testing.assert_array_equal(large.offsets[-1], small.offsets[-1])
    assert similarity_to_leaf(rows, large) > 0.97 * similarity_to_leaf(rows, small)


@pytest.mark.parametrize("dense", [False, True])
def test_who_splits_a_node_changes_nothing(dense, tiny_large_nodes, monkeypatch):
    rows = embeddings(n=500)
    rows = rows.toarray() if dense else rows
    trees = []
    for subtree in (300, 1000, 1 << 30):
        monkeypatch.setattr(tree_building, "SUBTREE", subtree)
        trees.append(build_tree(rows, branching=2, max_leaf_size=10, n_jobs=2))
    assert trees[0] == trees[1] == trees[2]


def rows_of(rows):
    """The stored values of each label's row."""
    ends = rows.indptr[1:-1]
    parts = (np.split(array.copy(), ends) for array in (rows.indices, rows.values))
    return dict(zip(rows.labels.tolist(), zip(*parts, strict=True), strict=True))


def test_rows_side_by_side_are_the_same_rows():
    """Also if parts of one part are copied while another part is still to be read."""
    with ThreadTeam(2) as team:
        whole = node_splitting.SparseRows(embeddings(), 0.01, team)
        expected = rows_of(whole)
        parts = [np.arange(150, 300, dtype=np.int32), np.array([3, 8, 100, 149], np.int32)]
        (half, numbers), (few, _) = whole.side_by_side(parts, team)
        (fewer, _), (others, _) = half.side_by_side([numbers[::2], numbers[1::2]], team)
        ((last, _),) = fewer.side_by_side([np.array([2], np.int32)], team)
    assert numbers.tolist() == list(range(150))
    assert (few.labels.tolist(), last.labels.tolist()) == ([3, 8, 100, 149], [154])
    assert others.labels.tolist() == list(range(151, 300, 2))
    for part in (few, others, last):
        for label, (indices, values) in rows_of(part).items():
            np.testing.assert_array_equal(indices, expected[label][0])
            np.testing.assert_array_equal(values, expected[label][1])


def test_leaves_are_tighter_than_chance():
    rows = embeddings(n=512, density=0.05)
    tree = build_tree(rows, max_leaf_size=8)
    shuffled = np.random.default_rng(0).permutation(512).reshape(64, 8)
    by_chance = similarity_to_leaf(rows, LabelTree.from_leaves(list(shuffled)))
    assert similarity_to_leaf(rows, tree) > 1.3 * by_chance


def test_the_seed_matters_and_is_all_that_matters():
    rows = embeddings()
    trees = [
        build_tree(rows, max_leaf_size=10, random_state=random_state) for random_state in (0, 0, 1)
    ]
    assert trees[0] == trees[1]
    assert trees[0] != trees[2]


@given(
    n=st.integers(1, 60),
    branching=st.integers(2, 9),
    max_leaf_size=st.integers(1, 12),
    random_state=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_any_size_is_balanced(n, branching, max_leaf_size, random_state):
    rows = embeddings(n, 10, random_state=random_state)
    tree = build_tree(
        rows, branching=branching, max_leaf_size=max_leaf_size, random_state=random_state
    )
    tree.validate()
    sizes = np.diff(tree.offsets[-1])
    assert sizes.max() <= max_leaf_size
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(
    "rows",
    [
        sp.csr_array((100, 5)),
        np.zeros((100, 5)),
        np.ones((100, 5)),
        sp.csr_array(np.ones((100, 1))),
        sp.csr_array((100, 0)),
        np.zeros((100, 0)),
    ],
    ids=["zero", "zero-dense", "same-dense", "same", "no-features", "no-features-dense"],
)
def test_labels_that_cannot_be_told_apart_are_dealt_by_id(rows):
    tree = build_tree(rows, max_leaf_size=10)
    assert tree.slot_labels.tolist() == list(range(100))
    assert set(np.diff(tree.offsets[-1])) == {6, 7}


@pytest.mark.parametrize("dense", [False, True])
def test_large_nodes_that_cannot_be_told_apart(dense, tiny_large_nodes):
    rows = np.ones((400, 4))
    tree = build_tree(rows if dense else sp.csr_array(rows), max_leaf_size=10)
    assert set(np.diff(tree.offsets[-1])) == {6, 7}


def test_zero_rows_fill_up_the_room_of_others():
    rows = embeddings(n=64).tolil()
    rows[::3] = 0
    tree = build_tree(sp.csr_array(rows), max_leaf_size=8)
    tree.validate()
    assert set(np.diff(tree.offsets[-1])) == {8}


def test_one_leaf_is_enough():
    assert build_tree(embeddings(n=1)) == LabelTree.flat(1)
    assert build_tree(embeddings(n=100)) == LabelTree.flat(100)


def test_only_directions_count():
    rows = embeddings()
    scaled = rows.multiply(np.linspace(0.5, 9, 300)[:, None]).tocsr()
    expected = build_tree(rows, max_leaf_size=10, min_weight=0)
    assert build_tree(scaled, max_leaf_size=10, min_weight=0) == expected
    assert build_tree(scaled.toarray(), max_leaf_size=10) == expected


def test_other_types_and_formats_are_taken():
    rows = embeddings()
    expected = build_tree(rows, max_leaf_size=10, min_weight=0)
    for other in (sp.csr_matrix(rows), rows.tocoo(), rows.astype(np.float64)):
        assert build_tree(other, max_leaf_size=10, min_weight=0) == expected
    assert build_tree(np.asfortranarray(rows.toarray()), max_leaf_size=10) == expected


def test_input_is_left_alone():
    rows = embeddings()
    before = rows.copy()
    build_tree(rows, max_leaf_size=10)
    assert (rows != before).nnz == 0


def test_small_values_are_left_out_on_request():
    rows = embeddings(n=200, density=0.3)
    dust = sp.csr_array(np.random.default_rng(0).choice([-9e-3, 9e-3], (200, 40)))
    dusty = sp.hstack([rows, dust], format="csr")
    expected = build_tree(rows, max_leaf_size=10, min_weight=0.01)
    assert build_tree(dusty, max_leaf_size=10, min_weight=0.01) == expected
    assert build_tree(dusty, max_leaf_size=10, min_weight=0) != expected
    with pytest.raises(ConfigError, match="min_weight must be from 0 to less than 1, got 1"):
        build_tree(rows, min_weight=1)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("dense", [False, True])
def test_a_value_that_is_no_number_is_named(bad, dense):
    rows = embeddings(n=10).toarray()
    rows[7, 0] = bad
    with pytest.raises(DataError, match=f"label_embeddings has the value {bad} (at|in) row 7"):
        build_tree(rows if dense else sp.csr_array(rows))


@pytest.mark.parametrize("rows", [np.ones(3), sp.csr_array((0, 4)), "abc", [["a"]]])
def test_what_is_no_matrix_is_refused(rows):
    with pytest.raises(DataError, match="label_embeddings must be"):
        build_tree(rows)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("branching", 1),
        ("branching", 2.5),
        ("max_leaf_size", 0),
        ("max_iterations", 0),
        ("random_state", -1),
        ("n_jobs", 0),
    ],
)
def test_bad_settings_are_named(name, value):
    with pytest.raises(ConfigError, match=f"{name} must be an int >= .*got {value}"):
        build_tree(embeddings(), **{name: value})


def test_two_python_threads_at_once():
    from concurrent.futures import ThreadPoolExecutor

    rows = embeddings(n=500)
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(lambda _: build_tree(rows, max_leaf_size=5, n_jobs=2), range(8)))
    assert all(tree == trees[0] for tree in trees)
