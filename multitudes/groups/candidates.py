"""Which instances could carry each label of each group, checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from multitudes import progress
from multitudes.data.dataset_parts import check_groups
from multitudes.data.groups import GroupCounts
from multitudes.errors import DataError
from multitudes.kernels.groups.assignment import count_places
from multitudes.kernels.sparse import transposed
from multitudes.kernels.threads import ThreadTeam
from multitudes.types import IntArray, LabelArray
from multitudes.validation import checked_sparse

Result = TypeVar("Result")

# Places that one task works on, about: the same blocks for any number of threads.
BLOCK = 1 << 17
MOST_COUNTED = 1 << 30


@dataclass(frozen=True)
class Candidates:
    """The members of each (label, group) pair, label by label.

    The *places* of a pair are the members of its group; those of all pairs, one after the other,
    are what scores are computed for.

    Parameters
    ----------
    n_instances : int
    group_indptr : int64 array (n_groups + 1,)
        Where each group's members begin.
    members : int32 array (n_memberships,)
        Instances, ascending within a group.
    label_indptr : int64 array (n_labels + 1,)
        Where each label's pairs begin.
    pair_group : int32 array (n_pairs,)
        Groups, ascending within a label.
    pair_count : int32 array (n_pairs,)
        How often the group lists the label.
    counts : GroupCounts
        Sizes, and what cannot be used.
    """

    n_instances: int
    group_indptr: IntArray
    members: LabelArray
    label_indptr: IntArray
    pair_group: LabelArray
    pair_count: LabelArray
    counts: GroupCounts

    @property
    def n_labels(self) -> int:
        """The number of labels, with and without groups."""
        return len(self.label_indptr) - 1

    @property
    def n_groups(self) -> int:
        """The number of groups, with and without members."""
        return len(self.group_indptr) - 1

    @property
    def largest_group(self) -> int:
        """The number of members of the largest group."""
        return int(np.diff(self.group_indptr).max(initial=0))

    def instances(self, pairs: slice = slice(None)) -> LabelArray:
        """Return the instance of each place of some pairs, (n_places,)."""
        first = self.group_indptr[self.pair_group[pairs]]
        sizes = self.group_indptr[self.pair_group[pairs] + 1] - first
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places: IntArray = np.arange(starts[-1]) + np.repeat(first - starts[:-1], sizes)
        return self.members[places]

    def label_places(self) -> IntArray:
        """Return where each label's places begin, (n_labels + 1,)."""
        first = np.empty(self.n_labels + 1, np.int64)
        count_places(self.group_indptr, self.label_indptr, self.pair_group, first)
        return first

    def over_blocks(
        self, work: Callable[[Block], Result], *, n_jobs: int | None = None
    ) -> list[Result]:
        """Do some work for blocks of labels, on threads; results in the order of the labels."""
        places = self.label_places()
        bounds = np.searchsorted(places, np.arange(0, places[-1] + BLOCK, BLOCK))
        bounds = np.unique(np.append(np.minimum(bounds, self.n_labels), [0, self.n_labels]))
        blocks = [
            Block(int(start), int(stop), int(places[stop] - places[start]))
            for start, stop in pairwise(bounds)
        ]
        # A popular label is a block of its own: the large ones first, so that none is left over.
        order = sorted(range(len(blocks)), key=lambda b: (-blocks[b].n_places, b))
        total = float(places[-1])
        with (
            progress.track("imputing labels", total) as task,
            ThreadTeam(n_jobs) as team,
        ):

            def one(b: int) -> Result:
                result = work(blocks[b])
                task.advance(blocks[b].n_places)
                return result

            done = team.map(one, order)
        return [result for _, result in sorted(zip(order, done, strict=True), key=lambda r: r[0])]


@dataclass(frozen=True)
class Block:
    """Some neighboring labels: from `start` to before `stop`, with `n_places` places in all."""

    start: int
    stop: int
    n_places: int

    def pairs(self, candidates: Candidates) -> slice:
        """Their pairs."""
        indptr = candidates.label_indptr
        return slice(int(indptr[self.start]), int(indptr[self.stop]))

    def label_indptr(self, candidates: Candidates) -> IntArray:
        """Where each of their labels' pairs begin, counted from the first."""
        own = candidates.label_indptr[self.start : self.stop + 1]
        return np.asarray(own - own[0])


def checked_candidates(
    groups: Any, group_labels: Any, *, n_instances: int | None = None
) -> Candidates:
    """Return groups and their labels as `Candidates`, or raise a DataError that says what is wrong.

    Parameters
    ----------
    groups : CSR (n_instances, n_groups)
        1 where an instance is in a group.
    group_labels : CSR (n_groups, n_labels)
        How often a group lists a label; ones where only the set is known.
    n_instances : int, optional
        Rows of X.
    """
    groups = checked_sparse(groups, name="groups", axes="(n_instances, n_groups)")
    group_labels = checked_sparse(group_labels, name="group_labels", axes="(n_groups, n_labels)")
    check_groups(groups, group_labels)
    if n_instances is not None and groups.shape[0] != n_instances:
        raise DataError(
            f"X has {n_instances:,} rows and groups has {groups.shape[0]:,}: they must describe "
            "the same instances"
        )
    if groups.shape[1] != group_labels.shape[0]:
        raise DataError(
            f"groups has {groups.shape[1]:,} columns and group_labels {group_labels.shape[0]:,} "
            "rows: there must be one of each for every group"
        )
    if group_labels.shape[1] == 0:
        raise DataError("group_labels has no labels (0 columns): there is nothing to learn")
    group_indptr, members, _ = transposed(
        groups.indptr, groups.indices, groups.data, groups.shape[1], None
    )
    # Counts beyond any group's size say no more than the size does.
    counts = np.minimum(group_labels.data.astype(np.float64), MOST_COUNTED)
    label_indptr, pair_group, pair_count = transposed(
        group_labels.indptr, group_labels.indices, counts, group_labels.shape[1], np.int32,
    )  # fmt: skip
    return Candidates(
        groups.shape[0], group_indptr, members, label_indptr, pair_group, pair_count,
        GroupCounts.of(groups, group_labels),
    )  # fmt: skip
