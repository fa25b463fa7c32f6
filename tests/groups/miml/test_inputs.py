"""Bad bags are refused with what is wrong; odd ones are counted."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.groups.miml.bags import (
    bags_to_learn_from,
    checked_bags,
    checked_rows,
    unlabeled_bags,
)

X = np.eye(5, dtype=np.float32)
# Group 0 has two instances, 1 none, 2 no labels, 3 one instance; instance 4 is in no group.
GROUPS = sp.csr_array(
    np.array([[1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], np.float32)
)
LABELS = sp.csr_array(np.array([[1, 0, 0], [1, 0, 0], [0, 0, 0], [0, 3, 0]], np.float32))


@pytest.mark.parametrize(("needs_labels", "sizes"), [(True, [2, 1]), (False, [2, 2, 1])])
def test_what_cannot_be_learned_from_is_left_out_and_counted(needs_labels, sizes):
    bags, counts = bags_to_learn_from(X, GROUPS, LABELS, needs_labels=needs_labels)
    assert bags.sizes.tolist() == sizes
    assert (counts.groups, counts.empty, counts.empty_listed) == (4, 1, 1)
    assert (counts.unlabeled, counts.in_no_group, counts.unseen_labels) == (1, 1, 1)
    assert counts.surplus == 1


def test_nothing_to_learn_from_is_refused():
    only_empty = LABELS.toarray() * np.array([[0], [1], [0], [0]])
    message = r"none of the 4 groups has both instances and labels \(1 have no instances, 3 no"
    with pytest.raises(DataError, match=message):
        bags_to_learn_from(X, GROUPS, sp.csr_array(only_empty), needs_labels=False)


def test_without_groups_each_instance_is_a_bag():
    bags = checked_bags(X, None, sp.csr_array(np.eye(5, 3)))
    np.testing.assert_array_equal(bags.members.toarray(), np.eye(5))
    np.testing.assert_array_equal(bags.group_labels.toarray(), np.eye(5, 3))


def test_bags_to_predict_have_no_labels():
    bags = unlabeled_bags(X, GROUPS, 7)
    assert bags.group_labels.shape == (4, 7)
    assert bags.group_labels.nnz == 0
    assert bags.sizes.tolist() == [2, 0, 2, 1]


def test_dense_and_sparse_rows_stay_what_they_are():
    assert isinstance(checked_rows(X.tolist()), np.ndarray)
    assert sp.issparse(checked_rows(sp.csr_matrix(X)))
    assert checked_rows(X.astype(np.float64)).dtype == np.float32


def changed(matrix, value):
    """A copy with another first value."""
    copied = matrix.copy()
    copied.data[0] = value
    return copied


@pytest.mark.parametrize(
    ("groups", "labels", "message"),
    [
        (GROUPS[:4], LABELS, "X has 5 rows and groups has 4"),
        (GROUPS, LABELS[:3], "groups has 4 columns and group_labels 3 rows"),
        (GROUPS, changed(LABELS, -1), "whole numbers >= 0, got -1 for group 0 and label 0"),
        (GROUPS, changed(LABELS, 0.5), "whole numbers >= 0, got 0.5 for group 0 and label 0"),
        (GROUPS, changed(LABELS, np.nan), "whole numbers >= 0, got nan"),
        (GROUPS, changed(LABELS, np.inf), "whole numbers >= 0, got inf"),
        (changed(GROUPS, 2), LABELS, "got 2 for instance 0 and group 0"),
        (GROUPS, LABELS[:, :0], "no labels"),
        ([[1]], LABELS, "groups must be a .* sparse array, got list"),
        (GROUPS, [[1]], "group_labels must be a .* sparse array, got list"),
    ],
)
def test_bad_groups_are_refused(groups, labels, message):
    with pytest.raises(DataError, match=message):
        checked_bags(X, groups, labels)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_nan_features_are_refused(make):
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(DataError, match="value nan at row 3, feature 2"):
        checked_rows(make(bad))
