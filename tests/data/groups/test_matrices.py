import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from multitudes.data import make_catalogue, split
from multitudes.data.groups import (
    GroupCounts,
    merge_labels,
    random_groups,
    without_groups_of,
)
from multitudes.errors import ConfigError, DataError


@given(n=st.integers(1, 60), size=st.integers(1, 70), random_state=st.integers(0, 5))
def test_random_groups_cover_every_instance_once(n, size, random_state):
    groups = random_groups(n, size, random_state=random_state)
    sizes = groups.sum(axis=0)
    assert groups.shape == (n, -(-n // size))
    assert groups.dtype == np.float32
    assert (groups.sum(axis=1) == 1).all()
    assert (sizes[:-1] == size).all()
    assert 1 <= sizes[-1] <= size


def test_random_groups_follow_the_seed():
    first, again, other = (
        random_groups(100, 4, random_state=random_state) for random_state in (1, 1, 2)
    )
    assert (first != again).nnz == 0
    assert (first != other).nnz > 0


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_a_size_must_be_a_whole_number(size):
    with pytest.raises(ConfigError, match="size must be a whole number >= 1"):
        random_groups(10, size, random_state=0)


def test_merging_counts_the_members_that_carry_a_label():
    Y = sp.csr_array([[1, 0, 1], [1, 0, 0], [0, 0, 0]])
    groups = sp.csr_array([[1, 0, 0], [1, 1, 0], [0, 1, 0]])  # the last group is empty
    assert merge_labels(Y, groups).toarray().tolist() == [[2, 0, 1], [1, 0, 0], [0, 0, 0]]
    as_set = merge_labels(Y, groups, as_counts=False)
    assert as_set.toarray().tolist() == [[1, 0, 1], [1, 0, 0], [0, 0, 0]]


@given(random_state=st.integers(0, 30))
def test_merging_equals_a_loop(random_state):
    rng = np.random.default_rng(random_state)
    Y, groups = (sp.random_array((12, 5), density=0.3, rng=rng, format="csr") for _ in range(2))
    expected = np.zeros((5, 5))
    for instance in range(12):
        for group in np.flatnonzero(groups.toarray()[instance]):
            for label in np.flatnonzero(Y.toarray()[instance]):
                expected[group, label] += 1
    merged = merge_labels(Y, groups)
    assert merged.has_sorted_indices
    assert (merged.toarray() == expected).all()
    assert merged.sum() == pytest.approx((groups != 0).sum(axis=1) @ (Y != 0).sum(axis=1))


def test_merging_needs_the_same_instances():
    with pytest.raises(DataError, match="Y has 3 rows and groups has 2"):
        merge_labels(sp.csr_array((3, 4)), sp.csr_array((2, 1)))


def test_a_part_can_leave_out_the_groups_of_another():
    data = make_catalogue(50, n_labels=30, group_size=4, random_state=0).dataset
    train, test = split(data, test_size=0.3, by="group", random_state=0)
    left = without_groups_of(train, test)
    sizes = left.groups.sum(axis=0)
    assert (sizes > 0).all()
    assert sizes.sum() == len(train)
    assert left.group_labels.shape == (len(sizes), 30)
    assert (merge_labels(left.Y, left.groups) != left.group_labels).nnz == 0
    assert left.group_names_of(0) == train.group_names_of(0)
    ungrouped = make_catalogue(10).dataset
    assert without_groups_of(ungrouped, ungrouped) is ungrouped


def test_every_oddity_is_counted():
    # Instance 3 is in no group; group 2 is empty but lists label 1; group 1 lists nothing;
    # label 3 is in no group; group 0 of two instances lists label 0 three times.
    groups = sp.csr_array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]])
    labels = sp.csr_array([[3, 0, 2, 0], [0, 0, 0, 0], [0, 1, 0, 0]])
    counts = GroupCounts.of(groups, labels)
    assert counts == GroupCounts(
        instances=4, groups=3, labels=4, memberships=4, listed=3, in_no_group=1, in_several=1,
        empty=1, empty_listed=1, unlabeled=1, unseen_labels=1, surplus=1,
    )  # fmt: skip
    assert counts.mean_size == 2
    assert str(counts).splitlines() == [
        "3 groups of 2.0 instances, 1.0 labels each",
        "instances in no group, from which nothing is learned: 1",
        "groups without instances: 1",
        "labels lost because their group has no instances: 1",
        "groups without labels, whose instances count as having none: 1",
        "labels that no group lists, which are never predicted: 1",
        "labels listed more often than their group has instances: 1",
    ]


def test_stored_zeros_do_not_count():
    groups = sp.csr_array((np.array([1.0, 0.0]), ([0, 1], [0, 0])), shape=(2, 1))
    labels = sp.csr_array((np.array([0.0]), ([0], [0])), shape=(1, 1))
    counts = GroupCounts.of(groups, labels)
    assert (counts.memberships, counts.in_no_group, counts.listed) == (1, 1, 0)


def test_sound_data_has_one_line():
    counts = GroupCounts.of(sp.csr_array([[1, 0], [0, 1], [0, 1]]), sp.csr_array([[1, 0], [2, 1]]))
    assert str(counts) == "2 groups of 1.5 instances, 1.5 labels each"
