"""Which children instances carry at each level, against the tree's own matrices."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.labels import LabelTree
from multitudes.linear.level_labels import Pattern, children_by_level, everywhere, pattern_of

TREES = {
    "flat": LabelTree.flat(9),
    "two levels": LabelTree.from_leaves([[3, 1], [0, 8, 7], [2, 4, 5, 6]]),
    "three levels": LabelTree.from_hierarchy([[[0, 1], [5]], [[2, 8], [3, 4], [6, 7]]]),
    "empty leaf": LabelTree.from_leaves([[0, 1, 2, 3], [], [4, 5, 6, 7, 8]]),
    "overlap": LabelTree.from_leaves([[0, 1, 2, 3], [3, 4, 5, 0], [6, 7, 8, 0]]),
}


def dense(pattern):
    out = np.zeros((pattern.n_rows, pattern.n_columns), bool)
    for i in range(pattern.n_rows):
        columns = pattern.row(i)
        assert (np.diff(columns) > 0).all()
        out[i, columns] = True
    return out


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_an_instance_carries_the_clusters_above_its_labels(tree):
    Y = sp.csr_array((np.random.default_rng(0).random((20, 9)) < 0.2).astype(np.float32))
    levels = children_by_level(pattern_of(Y), tree)
    assert len(levels) == tree.depth
    for level, found in enumerate(levels[:-1], start=1):
        np.testing.assert_array_equal(dense(found), (Y @ tree.label_clusters(level)).toarray() > 0)
    np.testing.assert_array_equal(dense(levels[-1]), Y.toarray()[:, tree.slot_labels] > 0)


def test_transposing_and_joining():
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 7, 5)) < 0.4
    left, right = pattern_of(sp.csr_array(a)), pattern_of(sp.csr_array(b))
    np.testing.assert_array_equal(dense(left.transposed()), a.T)
    np.testing.assert_array_equal(dense(left.union(right)), a | b)


def test_everywhere_is_one_cluster_of_all():
    assert dense(everywhere(4)).tolist() == [[True]] * 4
    assert everywhere(0).n_rows == 0


def test_a_pattern_without_rows():
    empty = Pattern(np.zeros(1, np.int64), np.zeros(0, np.int32), 3)
    assert empty.transposed().n_rows == 3
    assert empty.union(empty).n_rows == 0
