"""What became of the labels of groups when a tagger learned from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from multitudes.data import Dataset
from multitudes.data.groups import GroupCounts
from multitudes.groups.accuracy import imputation_accuracy
from multitudes.groups.imputation import spread
from multitudes.types import Sparse


@dataclass(frozen=True)
class GroupReport:
    """Sizes and oddities of the groups, and how the labels were assigned.

    Parameters
    ----------
    counts : GroupCounts
        Of what was learned from: an instance with labels and without a group is a group of one.
    n_assigned : int
        (instance, label) pairs that were learned from.
    n_unassigned : int
        Instances of a group that got no label.
    n_known : int
        Instances in a group whose own labels are known; they were compared, not learned from.
    accuracy : float or None
        Part of the labels assigned to those that are right.
    chance : float or None
        The same if labels were assigned at random.
    """

    counts: GroupCounts
    n_assigned: int
    n_unassigned: int
    n_known: int = 0
    accuracy: float | None = None
    chance: float | None = None

    @classmethod
    def of(cls, dataset: Dataset, groups: Sparse, group_labels: Sparse, assigned: Sparse) -> Self:
        """Compare what was assigned with what the Dataset knows.

        Parameters
        ----------
        dataset : Dataset
        groups, group_labels : CSR
            What was learned from, of `groups_to_learn`.
        assigned : CSR (n_instances, n_labels)
        """
        counts = GroupCounts.of(groups, group_labels)
        in_group = np.diff(groups.indptr) > 0
        unassigned = int((in_group & (np.diff(assigned.indptr) == 0)).sum())
        assert dataset.groups is not None  # as groups_to_learn has checked
        known = (np.diff(dataset.groups.indptr) > 0) & (np.diff(dataset.Y.indptr) > 0)
        if not known.any():
            return cls(counts, int(assigned.nnz), unassigned)
        naive = spread(groups, group_labels)
        right, random = (
            imputation_accuracy(labels, dataset.Y, known=known).precision
            for labels in (assigned, naive)
        )
        return cls(counts, int(assigned.nnz), unassigned, int(known.sum()), right, random)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON can hold them."""
        numbers = {name: value for name, value in vars(self).items() if name != "counts"}
        return {**vars(self.counts), **numbers}

    @classmethod
    def from_dict(cls, numbers: Mapping[str, Any]) -> Self:
        """What `to_dict` made."""
        names = GroupCounts.__dataclass_fields__
        counts = GroupCounts(**{name: numbers[name] for name in names})
        rest = {name: value for name, value in numbers.items() if name not in names}
        return cls(counts, **rest)

    def __str__(self) -> str:
        lines = [str(self.counts), f"labels assigned to instances: {self.n_assigned:,}"]
        if self.n_unassigned:
            lines.append(f"instances of a group that got no label: {self.n_unassigned:,}")
        if self.n_known and self.accuracy is not None:
            lines.append(
                f"labels assigned to the {self.n_known:,} instances whose own are known: "
                f"{self.accuracy:.1%} right, {self.chance:.1%} by chance"
            )
        return "\n".join(lines)
