"""What a user can know about grouped data before learning from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multitudes.data.groups import GroupCounts
from multitudes.groups.within_spread import WithinSpread, within_spread
from multitudes.types import Sparse

SETS = (
    "labels are listed once each, and groups are large: how many instances have a label is not "
    "known, and most of what they have is not found. If you know it, list a label once for each "
    "instance that has it; otherwise try groups.rounds=narrow, and check it with labeled instances"
)
MANY_MEMBERS = 6  # from so many on, in the mean, sets lose more than a point or two


@dataclass(frozen=True)
class Diagnosis:
    """Grouped data at a glance; ``str(diagnosis)`` is a page for people.

    Parameters
    ----------
    counts : GroupCounts
        Sizes, and what cannot be learned from.
    spread : WithinSpread or None
        How alike the members of a group are, and what assigning labels could gain; None where
        there are not two groups, or none of two instances.
    certain : float
        Part of the (group, label) pairs whose instances are certain: groups of one, and labels
        listed as often as their group has instances.
    single : int
        Labels that only one group lists, of several instances: no second group tells which of
        them carries the label.
    as_sets : bool
        Whether groups are large and none lists a label more than once: how many of its instances
        have it is not known then.
    """

    counts: GroupCounts
    spread: WithinSpread | None
    certain: float
    single: int
    as_sets: bool = False

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON can hold them; an infinite ratio is None, no spread is left out."""
        numbers = {
            **vars(self.counts),
            "mean_size": self.counts.mean_size,
            "certain": self.certain,
            "single": self.single,
            "as_sets": self.as_sets,
        }
        spread = self.spread
        if spread is None:
            return numbers
        return numbers | {
            "sigma_1": spread.sigma_1,
            "sigma_2": spread.sigma_2,
            "ratio": spread.ratio if np.isfinite(spread.ratio) else None,
            "share_within": spread.share,
            "price": spread.price,
        }

    def __str__(self) -> str:
        counts = self.counts
        lines = [
            str(counts),
            f"labels whose instances are certain: {self.certain:.1%} of {counts.listed:,}",
            f"labels that one group alone lists: {self.single:,} of {counts.labels:,}",
        ]
        lines += [] if self.spread is None else _about(self.spread)
        return "\n".join([*lines, SETS] if self.as_sets else lines)


def diagnose(X: Any, groups: Sparse, group_labels: Sparse) -> Diagnosis:
    """Look at grouped data: sizes, oddities, spread within groups, what assignment could gain.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features)
        Features, as the model sees them.
    groups : CSR (n_instances, n_groups)
        1 where an instance is in a group.
    group_labels : CSR (n_groups, n_labels)
        How often each group lists a label.
    """
    counts = GroupCounts.of(groups, group_labels)
    n_filled = counts.groups - counts.empty
    has_spread = n_filled > 1 and counts.memberships > n_filled
    lists = group_labels.tocoo()
    listed = lists.data != 0
    rows, columns, times = (a[listed] for a in (*lists.coords, lists.data))
    sizes = np.asarray((groups != 0).sum(axis=0)).ravel()[rows]
    n_groups_of = np.bincount(columns, minlength=lists.shape[1])
    alone = (n_groups_of[columns] == 1) & (sizes > 1) & (times < sizes)
    is_certain = (sizes > 0) & (times >= sizes)
    return Diagnosis(
        counts=counts,
        spread=within_spread(X, groups) if has_spread else None,
        certain=float(is_certain.mean()) if len(rows) else float("nan"),
        single=int(alone.sum()),
        as_sets=len(times) > 0 and bool(times.max() <= 1) and counts.mean_size >= MANY_MEMBERS,
    )


def _about(spread: WithinSpread) -> list[str]:
    """The spread, and what it means, in words."""
    ratio = f"{spread.ratio:.2f}" if np.isfinite(spread.ratio) else "infinite"
    return [
        f"spread within groups: {spread.share:.0%} of all spread (sigma_2 / sigma_1 = {ratio})",
        f"price of not assigning labels: up to {spread.price:.2f} times the error "
        f"(1 for groups of equal instances, {spread.group_size**0.5:.2f} for random ones)",
    ]
