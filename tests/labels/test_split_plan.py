"""Arity rules and exact balance of the planned splits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitudes.labels.split_plan import N_LEFT, START, STOP, plan_splits, tree_arities


@pytest.mark.parametrize(
    ("n_labels", "branching", "max_leaf_size", "arities"),
    [
        (40_623, 16, 100, (2, 16, 16)),  # 512 leaves
        (24_688, 16, 100, (16, 16)),
        (4_047, 16, 100, (4, 16)),
        (40_623, 32, 100, (16, 32)),
        (800, 2, 100, (2, 2, 2)),
        (801, 2, 100, (2, 2, 2, 2)),
        (40_623, 10, 100, (5, 10, 10)),
        (1_000, 3, 10, (2, 3, 3, 3, 3)),
        (100, 16, 100, ()),
        (101, 16, 100, (2,)),
        (1, 2, 1, ()),
        (5, 16, 1, (8,)),  # more leaves than labels
    ],
)
def test_arities(n_labels, branching, max_leaf_size, arities):
    assert tree_arities(n_labels, branching, max_leaf_size) == arities


@given(
    n_labels=st.integers(1, 3000),
    branching=st.integers(2, 40),
    max_leaf_size=st.integers(1, 200),
)
def test_leaves_are_exactly_balanced_and_small_enough(n_labels, branching, max_leaf_size):
    arities = tree_arities(n_labels, branching, max_leaf_size)
    plan = plan_splits(n_labels, arities, random_state=0)
    sizes = np.diff(plan.leaf_offsets)
    assert len(sizes) == math.prod(arities)
    assert sizes.sum() == n_labels
    assert sizes.max() <= max_leaf_size
    assert sizes.max() - sizes.min() <= 1


@given(n_labels=st.integers(2, 500), arities=st.lists(st.integers(2, 7), min_size=1, max_size=3))
def test_nodes_cover_their_children_in_preorder(n_labels, arities):
    plan = plan_splits(n_labels, tuple(arities), random_state=1)
    assert len(plan.nodes) == math.prod(arities) - 1
    pending = [(0, 0, n_labels)]
    seen = 0
    while pending:
        node, start, stop = pending.pop()
        assert (plan.nodes[node, START], plan.nodes[node, STOP]) == (start, stop)
        assert len(plan.subtree(node)) == plan.n_leaves[node] - 1
        middle = start + plan.nodes[node, N_LEFT]
        spans = {node + 1: (start, middle), node + int(plan.left_leaves[node]): (middle, stop)}
        if stop - start < 2:  # not split: everything is on one side, whichever
            spans = {child: tuple(plan.nodes[child, :2]) for child in plan.children(node)}
        pending.extend((child, *spans[child]) for child in plan.children(node))
        seen += 1
    assert seen == len(plan.nodes)


def test_starting_rows_are_two_of_the_node():
    plan = plan_splits(1000, (8, 8), random_state=3)
    sizes = plan.nodes[:, STOP] - plan.nodes[:, START]
    first, second = plan.nodes[:, 3], plan.nodes[:, 4]
    assert np.all(first != second)
    assert np.all((first < sizes) & (second < sizes) & (first >= 0) & (second >= 0))


def test_the_seed_changes_the_starting_rows_alone():
    a, b = (plan_splits(1000, (8, 8), random_state=random_state).nodes for random_state in (0, 1))
    np.testing.assert_array_equal(a[:, :3], b[:, :3])
    assert np.any(a[:, 3:] != b[:, 3:])
