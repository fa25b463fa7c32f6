"""LabelTree: structure, questions, validation, state."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.labels import LabelTree


@pytest.fixture
def tree():
    """Root, 2 clusters, 3 leaves: {0, 3}, {1}, {2, 4}."""
    return LabelTree(
        (np.array([0, 2]), np.array([0, 2, 3]), np.array([0, 2, 3, 5])),
        np.array([0, 3, 1, 2, 4]),
        5,
    )


@pytest.fixture
def overlapping():
    """Two leaves that share label 1."""
    return LabelTree.from_leaves([[0, 1], [1, 2]])


def test_sizes(tree):
    assert (tree.depth, tree.n_leaves, tree.n_slots, tree.n_labels) == (3, 3, 5, 5)
    assert [tree.n_clusters(level) for level in range(4)] == [1, 2, 3, 5]


def test_parents_and_ancestors(tree):
    assert tree.parents(0).tolist() == [0, 0]
    assert tree.parents(1).tolist() == [0, 0, 1]
    assert tree.parents(2).tolist() == [0, 0, 1, 2, 2]
    assert tree.cluster_of_slot(1).tolist() == [0, 0, 0, 1, 1]
    assert tree.cluster_of_slot(0).tolist() == [0] * 5
    assert tree.cluster_of_slot(3).tolist() == [0, 1, 2, 3, 4]


def test_leaf_of_label_and_labels_of_leaf(tree):
    assert tree.leaf_of_label().tolist() == [0, 1, 2, 0, 2]
    assert [tree.labels_of_leaf(leaf).tolist() for leaf in range(3)] == [[0, 3], [1], [2, 4]]


def test_slots_of_label(tree, overlapping):
    indptr, slots = tree.slots_of_label()
    assert (indptr.tolist(), slots.tolist()) == ([0, 1, 2, 3, 4, 5], [0, 2, 3, 1, 4])
    indptr, slots = overlapping.slots_of_label()
    assert (indptr.tolist(), slots.tolist()) == ([0, 1, 3, 4], [0, 1, 2, 3])


def test_label_clusters_counts_a_shared_ancestor_once(tree, overlapping):
    expected = [[1, 0], [1, 0], [0, 1], [1, 0], [0, 1]]
    assert tree.label_clusters(1).toarray().tolist() == expected
    assert overlapping.label_clusters(0).toarray().tolist() == [[1], [1], [1]]
    assert overlapping.label_clusters(1).toarray().tolist() == [[1, 0], [1, 1], [0, 1]]
    assert tree.label_clusters(1).dtype == np.float32


def test_overlap_is_refused_where_one_leaf_is_needed(overlapping):
    with pytest.raises(DataError, match=r"label 1 lives in 2 leaves, allowed is 1"):
        overlapping.leaf_of_label()
    with pytest.raises(DataError, match=r"label 1 lives in 2 leaves"):
        overlapping.validate()
    assert overlapping.validate(max_overlap=2) is None


def test_flat_is_one_leaf():
    tree = LabelTree.flat(3)
    assert (tree.depth, tree.n_leaves) == (1, 1)
    assert tree.labels_of_leaf(0).tolist() == [0, 1, 2]


def test_from_leaves_sorts_and_allows_empty_leaves():
    tree = LabelTree.from_leaves([[2, 0], [], [1]])
    assert tree.slot_labels.tolist() == [0, 2, 1]
    assert tree.offsets[-1].tolist() == [0, 2, 2, 3]
    assert tree.leaf_of_label().tolist() == [0, 2, 0]


def test_with_leaves_keeps_the_upper_levels(tree):
    assignment = sp.csr_array(
        np.array([[1, 0, 0], [1, 1, 0], [0, 0, 5], [0, 1, 0], [0, 0, 1]], dtype=float)
    )
    other = tree.with_leaves(assignment)
    np.testing.assert_array_equal(other.label_clusters(2).toarray(), assignment.toarray() > 0)
    assert [o.tolist() for o in other.offsets[:2]] == [o.tolist() for o in tree.offsets[:2]]
    assert tree.n_slots == 5  # the tree itself is as it was


def test_with_leaves_ignores_stored_zeros_and_takes_its_own_leaves_back(tree):
    own = tree.label_clusters(2).tolil()
    stored = sp.csr_array(([1.0] * 5 + [0.0], ([0, 1, 2, 3, 4, 0], [0, 1, 2, 0, 2, 1])), (5, 3))
    assert tree.with_leaves(own) == tree == tree.with_leaves(stored)


def test_with_leaves_needs_the_right_shape_and_every_label(tree):
    with pytest.raises(DataError, match=r"\(5, 3\), got \(5, 2\)"):
        tree.with_leaves(sp.csr_array((5, 2)))
    with pytest.raises(DataError, match="5 labels are in no leaf, the first is label 0"):
        tree.with_leaves(sp.csr_array((5, 3)))


def test_equality(tree):
    assert tree == LabelTree(tree.offsets, tree.slot_labels, 5)
    assert tree != LabelTree.flat(5)
    assert tree != "a tree"


def test_state_round_trip(tree, overlapping):
    for original in (tree, overlapping, LabelTree.flat(1)):
        state = original.to_state()
        assert state.kind == "label-tree"
        assert LabelTree.from_state(state) == original


def test_arrays_are_read_only_and_the_callers_stay_writable():
    slots = np.arange(3, dtype=np.int32)
    tree = LabelTree((np.array([0, 3]),), slots, 3)
    with pytest.raises(ValueError, match="read-only"):
        tree.slot_labels[0] = 1
    slots[0] = 0
    assert slots.flags.writeable


@pytest.mark.parametrize(
    ("offsets", "slots", "n_labels", "message"),
    [
        ([], [0], 1, "starts with one root"),
        ([[0, 1, 2]], [0, 1], 2, "starts with one root"),
        ([[0, 3]], [0, 1], 2, r"offsets\[0\] must be .* from 0 to .* children \(2\), got .*0 to 3"),
        ([[1, 2]], [0, 1], 2, r"from 0 to"),
        ([[0, 1], [0, 1, 2]], [0, 1], 2, r"children \(2\)"),
        ([[0, 3], [0, 2, 1, 2]], [0, 1], 2, "cluster 1 of level 1 has -1 children"),
        ([[0, 2], [0, 0, 1], [0, 1]], [0], 1, "cluster 0 of level 1 has 0 children, allowed is 1"),
        ([[0, 2]], [0, 2], 2, "label ids from 0 to 1, got 0 to 2"),
        ([[0, 2]], [0, -1], 2, "got -1 to 0"),
        ([[0, 1]], [0], 2, "1 labels are in no leaf, the first is label 1"),
        ([[0, 2]], [1, 0], 2, "leaf 0 holds label 1 before label 0"),
        ([[0, 2]], [0, 0], 1, "leaf 0 holds label 0 before label 0"),
        ([[0, 0]], [], 0, "at least one label, got n_labels=0"),
        ([[0.0, 1.0]], [0], 1, "integer ids, got an array of float64"),
    ],
)
def test_a_broken_tree_is_refused(offsets, slots, n_labels, message):
    with pytest.raises(DataError, match=message):
        LabelTree(tuple(np.array(level) for level in offsets), np.array(slots), n_labels)
