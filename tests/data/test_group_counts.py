import numpy as np
import scipy.sparse as sp

from multitudes.data.group_counts import GroupCounts


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
