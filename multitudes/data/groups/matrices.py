"""Groups of instances as matrices: make them at random, merge their labels, count them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from multitudes import memory
from multitudes.errors import ConfigError, DataError
from multitudes.types import IntArray, Sparse
from multitudes.validation import checked_count, checked_truth

if TYPE_CHECKING:
    from multitudes.data.dataset import Dataset


def random_groups(
    n_instances: int, size: int, *, random_state: int | np.random.Generator = 0
) -> sp.csr_array[Any]:
    """Deal instances into groups of one size at random, each instance into one group.

    Parameters
    ----------
    n_instances : int
        Number of instances.
    size : int
        Instances per group. If it does not divide `n_instances`, the last group is smaller.
    random_state : int or numpy Generator
        Same seed, same groups.

    Returns
    -------
    csr_array (n_instances, n_groups), float32
        1 where an instance is in a group.

    Examples
    --------
    >>> random_groups(10, 4, random_state=0).sum(axis=0)
    array([4., 4., 2.], dtype=float32)
    """
    for name, value in (("n_instances", n_instances), ("size", size)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ConfigError(f"{name} must be a whole number >= 1, got {value!r}")
    if not isinstance(random_state, np.random.Generator):
        random_state = checked_count(random_state, "random_state", at_least=0)
    memory.ask(28 * int(n_instances), f"groups of {n_instances:,} instances")
    group_of = np.empty(n_instances, np.int64)
    group_of[np.random.default_rng(random_state).permutation(n_instances)] = (
        np.arange(n_instances) // size
    )
    return memberships(group_of, -(-n_instances // size))


def memberships(group_of: IntArray, n_groups: int) -> sp.csr_array[Any]:
    """Return groups as a matrix (n_instances, n_groups), from the one group of each instance."""
    n = len(group_of)
    parts: Any = (np.ones(n, np.float32), group_of.astype(np.int32), np.arange(n + 1))
    return sp.csr_array(parts, shape=(n, n_groups))


def merge_labels(Y: Sparse, groups: Sparse, *, as_counts: bool = True) -> sp.csr_array[Any]:
    """Give each group all labels of its members.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
        Labels of the instances; non-zero is 1.
    groups : CSR (n_instances, n_groups)
        Non-zero where an instance is in a group.
    as_counts : bool
        Count how many members carry a label (a list merge, as in the paper), or hold 1 for a
        label that any of them carries (a set merge).

    Returns
    -------
    csr_array (n_groups, n_labels), float32
        Sorted indices; a group without labels, or without members, has an empty row.

    References
    ----------
    Shen et al., Extreme Multi-label Classification from Aggregated Labels, ICML 2020, appendix B.2.
    """
    Y, groups = checked_truth(Y, name="Y"), checked_truth(groups, name="groups")
    if Y.shape[0] != groups.shape[0]:
        raise DataError(
            f"Y has {Y.shape[0]:,} rows and groups has {groups.shape[0]:,}: they must describe "
            "the same instances"
        )
    _ask_per_label(Y)
    merged: sp.csr_array[Any] = (_ones(groups).T @ _ones(Y)).tocsr()
    merged.sort_indices()
    if not as_counts:
        merged.data.fill(1)
    return merged


def without_groups_of(dataset: Dataset, other: Dataset) -> Dataset:
    """Return a part of a Dataset without the groups that another part has instances of.

    After a split by group: `Dataset.take` keeps all groups, also those left without instances.
    """
    if dataset.groups is None or other.groups is None:
        return dataset
    kept = np.flatnonzero(np.bincount(other.groups.indices, minlength=other.groups.shape[1]) == 0)
    labels, names = dataset.group_labels, dataset.group_names
    return dataclasses.replace(
        dataset,
        groups=dataset.groups[:, kept],
        group_labels=None if labels is None else labels[kept],
        group_names=None if names is None else [names[group] for group in kept.tolist()],
    )


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
        """Count the parts of grouped data.

        Parameters
        ----------
        groups : CSR (n_instances, n_groups)
            Non-zero where an instance is in a group.
        group_labels : CSR (n_groups, n_labels)
            How often each group lists a label.
        """
        _ask_per_label(group_labels)
        members, lists = _without_zeros(groups), _without_zeros(group_labels)
        if members.shape[1] != lists.shape[0]:
            raise DataError(
                f"groups has {members.shape[1]:,} columns and group_labels {lists.shape[0]:,} "
                "rows: there must be one of each for every group"
            )
        groups_of = np.diff(members.indptr)
        sizes = np.bincount(members.indices, minlength=members.shape[1]).astype(np.int32)
        size_of_pair = np.repeat(sizes, np.diff(lists.indptr))
        return cls(
            instances=int(members.shape[0]),
            groups=int(members.shape[1]),
            labels=int(lists.shape[1]),
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
        """Mean number of instances of the groups that are not empty."""
        return self.memberships / max(self.groups - self.empty, 1)

    def __str__(self) -> str:
        """Return a line of sizes, then a line for each oddity that occurs."""
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


def _ask_per_label(Y: Sparse) -> None:
    """Ask for the memory of a count per label, of which there may be any number."""
    memory.ask(16 * int(Y.shape[1]), f"a count of each of {Y.shape[1]:,} labels")


def _ones(matrix: Sparse) -> Sparse:
    """Return the pattern of a matrix: 1 where it is not 0, float32."""
    found = checked_truth(matrix, name="groups or Y")
    ones: Any = (np.ones(len(found.data), np.float32), found.indices, found.indptr)
    return sp.csr_array(ones, shape=found.shape)


def _without_zeros(matrix: Sparse) -> Sparse:
    """Return the matrix as CSR; copied only if it stores zeros or entries twice."""
    return checked_truth(matrix, name="groups or group_labels")
