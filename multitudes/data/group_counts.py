"""What of grouped data cannot be learned from, counted: nothing is lost silently."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from multitudes.types import Sparse


@dataclass(frozen=True)
class GroupCounts:
    """Sizes of grouped data, and how much of it says nothing about any instance's labels.

    Parameters
    ----------
    instances, groups, labels : int
        How many there are.
    memberships : int
        (instance, group) pairs.
    listed : int
        (group, label) pairs.
    in_no_group : int
        Instances without a group: nothing is known about their labels.
    in_several : int
        Instances in more than one group.
    empty : int
        Groups without instances.
    empty_listed : int
        (group, label) pairs of those: no instance can be given such a label.
    unlabeled : int
        Groups without labels.
    unseen_labels : int
        Labels that no group lists.
    surplus : int
        (group, label) pairs whose count exceeds the number of instances of the group.
    """

    instances: int
    groups: int
    labels: int
    memberships: int
    listed: int
    in_no_group: int
    in_several: int
    empty: int
    empty_listed: int
    unlabeled: int
    unseen_labels: int
    surplus: int

    @classmethod
    def of(cls, groups: Sparse, group_labels: Sparse) -> GroupCounts:
        """Count.

        Parameters
        ----------
        groups : CSR (n_instances, n_groups)
            Non-zero where an instance is in a group.
        group_labels : CSR (n_groups, n_labels)
            How often each group lists a label.
        """
        members, lists = _without_zeros(groups), _without_zeros(group_labels)
        groups_of = np.diff(members.indptr)
        sizes = np.bincount(members.indices, minlength=groups.shape[1]).astype(np.int32)
        size_of_pair = np.repeat(sizes, np.diff(lists.indptr))
        return cls(
            instances=int(groups.shape[0]),
            groups=int(groups.shape[1]),
            labels=int(group_labels.shape[1]),
            memberships=int(members.nnz),
            listed=int(lists.nnz),
            in_no_group=int((groups_of == 0).sum()),
            in_several=int((groups_of > 1).sum()),
            empty=int((sizes == 0).sum()),
            empty_listed=int((size_of_pair == 0).sum()),
            unlabeled=int((np.diff(lists.indptr) == 0).sum()),
            unseen_labels=int((np.bincount(lists.indices, minlength=lists.shape[1]) == 0).sum()),
            surplus=int(((lists.data > size_of_pair) & (size_of_pair > 0)).sum()),
        )

    @property
    def mean_size(self) -> float:
        """Instances of a group that is not empty, in the mean."""
        return self.memberships / max(self.groups - self.empty, 1)

    def __str__(self) -> str:
        """A line of sizes, then a line for each oddity that occurs."""
        oddities = {
            "instances in no group, from which nothing is learned": self.in_no_group,
            "groups without instances": self.empty,
            "labels lost because their group has no instances": self.empty_listed,
            "groups without labels, whose instances count as having none": self.unlabeled,
            "labels that no group lists, which are never predicted": self.unseen_labels,
            "labels listed more often than their group has instances": self.surplus,
        }
        sizes = (
            f"{self.groups:,} groups of {self.mean_size:.1f} instances, "
            f"{self.listed / max(self.groups, 1):.1f} labels each"
        )
        lines = [f"{what}: {count:,}" for what, count in oddities.items() if count]
        return "\n".join([sizes, *lines])


def _without_zeros(matrix: Sparse) -> Sparse:
    """The matrix as CSR; copied only where it stores zeros or entries twice."""
    rows = sp.csr_array(matrix)
    if rows.has_canonical_format and (rows.data != 0).all():
        return rows
    rows = rows.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows
