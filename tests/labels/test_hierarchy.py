"""Users' own hierarchies."""

import numpy as np
import pytest

from multitudes.errors import DataError
from multitudes.labels import LabelTree


def leaves(tree):
    return [tree.labels_of_leaf(leaf).tolist() for leaf in range(tree.n_leaves)]


def test_even_nested_lists():
    tree = LabelTree.from_hierarchy([[[3, 0], [1]], [[2, 4]]])
    assert [tree.n_clusters(level) for level in range(3)] == [1, 2, 3]
    assert leaves(tree) == [[0, 3], [1], [2, 4]]


def test_uneven_depth_is_padded_with_single_children():
    tree = LabelTree.from_hierarchy({"deep": {"a": [0], "b": {"c": [1, 2]}}, "shallow": [3]})
    assert tree.depth == 4
    assert sorted(leaves(tree)) == [[0], [1, 2], [3]]
    leaf = int(tree.leaf_of_label()[3])
    for level in (2, 1):
        parent = int(tree.parents(level)[leaf])
        assert np.diff(tree.offsets[level])[parent] == 1
        leaf = parent


def test_labels_beside_clusters_get_a_leaf_of_their_own():
    tree = LabelTree.from_hierarchy([0, 1, [2, 3]])
    assert leaves(tree) == [[0, 1], [2, 3]]
    assert tree.offsets[0].tolist() == [0, 2]


def test_empty_clusters_are_dropped():
    assert leaves(LabelTree.from_hierarchy([[0], [], [[], [[]]], [1]])) == [[0], [1]]


def test_a_list_of_labels_is_the_flat_tree():
    assert LabelTree.from_hierarchy([2, 0, 1]) == LabelTree.flat(3)


def test_a_polyhierarchy_gives_overlap():
    tree = LabelTree.from_hierarchy({"fruit": [0, 1], "companies": [1, 2]})
    assert tree.validate(max_overlap=2) is None
    assert tree.n_slots == 4


def test_parents_with_cluster_nodes():
    # labels 0..3; clusters 4 (over 0, 1), 5 (over 2, 3), 6 (over both)
    tree = LabelTree.from_hierarchy(np.array([4, 4, 5, 5, 6, 6, -1]), n_labels=4)
    assert [tree.n_clusters(level) for level in range(3)] == [1, 1, 2]
    assert leaves(tree) == [[0, 1], [2, 3]]


def test_a_label_that_is_a_parent_lives_beside_its_children():
    # 0 is the broader term of 1 and 2; 3 stands alone
    tree = LabelTree.from_hierarchy(np.array([-1, 0, 0, -1]))
    assert leaves(tree) == [[3], [0, 1, 2]]


def test_nested_and_parents_agree():
    nested = LabelTree.from_hierarchy([[[0, 1], [2]], [3]])
    parents = LabelTree.from_hierarchy(np.array([5, 5, 6, 7, -1, 4, 4, -1]), n_labels=4)
    assert nested == parents


def test_a_chain_deeper_than_pythons_stack():
    deep = [0]
    for _ in range(3000):
        deep = [deep]
    assert LabelTree.from_hierarchy(deep).depth == 3001
    chain = np.arange(-1, 999)  # each label's broader term is the one before
    assert LabelTree.from_hierarchy(chain).n_labels == 1000


@pytest.mark.parametrize(
    ("hierarchy", "n_labels", "message"),
    [
        ([["cat"]], None, "entry 0 of entry 0 of the hierarchy must be .* got 'cat'"),
        ({"a": {"b": 1.5}}, None, "'b' must be a label id"),
        ([True], None, "got True"),
        ([[0], [2]], None, "in no leaf, the first is label 1"),
        ([[0, 0]], None, "must ascend and not repeat"),
        ([0, 5], 3, "label ids from 0 to 2"),
        ([], None, "at least one label"),
        (np.array([1, 2, 0]), None, "cycle: following them up from node 0 never ends"),
        (np.array([-1, 1]), None, "cycle: following them up from node 1"),
        (np.array([-1, 7]), None, "parent of node 1 is 7, allowed is a node from 0 to 1"),
        (np.array([-2]), None, "parent of node 0 is -2"),
        (np.array([-1]), 2, r"n_labels must be from 1 to the number of nodes \(1\): 2"),
        (np.array([0.5]), None, "one-dimensional integer array, got float64"),
    ],
)
def test_a_broken_hierarchy_is_refused(hierarchy, n_labels, message):
    with pytest.raises(DataError, match=message):
        LabelTree.from_hierarchy(hierarchy, n_labels=n_labels)
