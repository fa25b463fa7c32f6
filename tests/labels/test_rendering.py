"""The tree as text."""

import pytest

from multitudes.errors import ConfigError, DataError
from multitudes.labels import LabelTree


@pytest.fixture
def tree():
    return LabelTree.from_hierarchy([[[0, 3], [1]], [[2, 4, 5]]])


def test_whole_tree(tree):
    assert tree.render(list("abcdef")) == (
        "root (2 children)\n"
        "  cluster 0 (2 children)\n"
        "    leaf 0 (2 labels): a, d\n"
        "    leaf 1 (1 label): b\n"
        "  cluster 1 (1 child)\n"
        "    leaf 2 (3 labels): c, e, f"
    )


def test_what_is_cut_is_counted(tree):
    assert tree.render(max_children=1) == (
        "root (2 children)\n"
        "  cluster 0 (2 children)\n"
        "    leaf 0 (2 labels): 0 ... 1 more\n"
        "    ... 1 more\n"
        "  ... 1 more"
    )


def test_depth_is_limited(tree):
    assert tree.render(max_depth=1) == "root (2 children)"
    assert len(tree.render(max_depth=2).splitlines()) == 3
    assert tree.render(max_depth=99) == tree.render()


def test_one_leaf_and_empty_leaves():
    assert LabelTree.flat(2).render() == "leaf 0 (2 labels): 0, 1"
    assert "  leaf 1 (0 labels)" in LabelTree.from_leaves([[0], []]).render().splitlines()


def test_bad_arguments(tree):
    with pytest.raises(DataError, match=r"one entry per label \(6\), got 1"):
        tree.render(["a"])
    with pytest.raises(ConfigError, match="max_children must be a whole number >= 1, got 0"):
        tree.render(max_children=0)
    with pytest.raises(ConfigError, match="max_depth must be a whole number >= 1, got 0"):
        tree.render(max_depth=0)
