"""Grouped data at the door."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.groups import candidates as module
from multitudes.groups.candidates import checked_candidates

# Instance 3 is in no group, group 2 is empty, group 3 has no labels, label 1 is in no group.
GROUPS = sp.csr_array(np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]]))
GROUP_LABELS = sp.csr_array(np.array([[2, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0]]))


def test_pairs_and_places():
    found = checked_candidates(GROUPS, GROUP_LABELS)
    assert found.label_indptr.tolist() == [0, 2, 2, 4]
    assert found.pair_group.tolist() == [0, 1, 0, 2]
    assert found.pair_count.tolist() == [2, 1, 1, 1]
    assert found.instances().tolist() == [0, 1, 1, 2, 0, 1]
    assert found.instances(slice(1, 2)).tolist() == [1, 2]
    assert found.label_places().tolist() == [0, 4, 4, 6]
    assert (found.n_instances, found.n_groups, found.n_labels) == (4, 4, 3)
    assert found.largest_group == 2


def test_what_cannot_be_used_is_counted():
    counts = checked_candidates(GROUPS, GROUP_LABELS).counts
    assert (counts.in_no_group, counts.empty, counts.empty_listed) == (1, 1, 1)
    assert (counts.unlabeled, counts.unseen_labels) == (1, 1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_cover_all_labels_in_order(monkeypatch, n_jobs):
    monkeypatch.setattr(module, "BLOCK", 3)
    rng = np.random.default_rng(0)
    labels = sp.csr_array((rng.random((4, 50)) < 0.3).astype(float))
    found = checked_candidates(GROUPS, labels)
    blocks = found.over_blocks(lambda block: block, n_jobs=n_jobs)
    assert len(blocks) > 5
    assert [block.start for block in blocks] == [0, *(block.stop for block in blocks[:-1])]
    assert blocks[-1].stop == 50
    assert sum(block.n_places for block in blocks) == found.label_places()[-1]


def test_no_groups_at_all_is_one_block():
    found = checked_candidates(
        sp.csr_array((3, 0), dtype=np.float32), sp.csr_array((0, 5), dtype=np.float32)
    )
    assert [block.n_places for block in found.over_blocks(lambda block: block)] == [0]
    assert found.largest_group == 0


def test_stored_zeros_are_no_members():
    groups = sp.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert checked_candidates(groups, sp.csr_array(np.ones((2, 1)))).instances().tolist() == [0]


@pytest.mark.parametrize(
    ("groups", "group_labels", "message"),
    [
        (GROUPS.toarray(), GROUP_LABELS, "groups must be a .* sparse array, got ndarray"),
        (GROUPS, [[1]], "group_labels must be a .* sparse array, got list"),
        (GROUPS, GROUP_LABELS[:3], "groups has 4 columns and group_labels 3 rows"),
        (GROUPS, GROUP_LABELS[:, :0], "group_labels has no labels"),
        (GROUPS * 2, GROUP_LABELS, "groups must hold 1 .* got 2 for instance 0 and group 0"),
        (GROUPS, GROUP_LABELS * -1, "whole numbers >= 0, got -2 for group 0 and label 0"),
        (GROUPS, GROUP_LABELS * 0.5, "whole numbers >= 0, got 0.5 for group 0 and label 2"),
        (GROUPS, GROUP_LABELS * np.nan, "whole numbers >= 0, got nan"),
        (GROUPS * np.nan, GROUP_LABELS, "groups must hold 1 .* got nan"),
        (GROUPS * 1j, GROUP_LABELS, "groups must be a .* matrix of numbers, got complex128"),
    ],
)
def test_bad_input_is_refused(groups, group_labels, message):
    with pytest.raises(DataError, match=message):
        checked_candidates(groups, group_labels)


def test_counts_too_large_to_count_are_refused():
    with pytest.raises(DataError, match="inf"):
        checked_candidates(GROUPS, GROUP_LABELS * np.inf)


def test_other_instances_than_in_x_are_refused():
    with pytest.raises(DataError, match="X has 5 rows and groups has 4"):
        checked_candidates(GROUPS, GROUP_LABELS, n_instances=5)


def test_a_corrupt_matrix_is_refused():
    corrupt = GROUPS.copy()
    corrupt.indices[0] = 99
    with pytest.raises(DataError, match="groups has column index 99 outside its 4 columns"):
        checked_candidates(corrupt, GROUP_LABELS)
