"""Which members of a group get a label: the best, or all of them in part."""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Bools, Floats, Ints, Longs

# Scores that differ by less are equal but for rounding: the smaller instance goes first. Members of
# a label's only group of two are equally close to their own sum, for one.
TIE = 1e-6


@njit(nogil=True, cache=True)
def count_places(
    group_indptr: Longs,  # IN (n_groups + 1,)
    label_indptr: Longs,  # IN (n_labels + 1,): the groups of each label
    label_groups: Ints,  # IN
    first: Longs,  # OUT (n_labels + 1,): where each label's places begin
) -> None:
    """Add up the sizes of each label's groups."""
    first[0] = 0
    for label in range(label_indptr.size - 1):
        at = first[label]
        for p in range(label_indptr[label], label_indptr[label + 1]):
            at += group_indptr[label_groups[p] + 1] - group_indptr[label_groups[p]]
        first[label + 1] = at


@njit(nogil=True, cache=True)
def choose_members(
    group_indptr: Longs,  # IN (n_groups + 1,)
    members: Ints,  # IN: the instances of each group, ascending
    label_indptr: Longs,  # IN (n_labels + 1,): the groups of each label of this block
    label_groups: Ints,  # IN (n_pairs,)
    wanted: Ints,  # IN (n_pairs,): how many members are to get the label; or (0,) for one each
    slack: float,  # IN: members whose score is less than this below the last one chosen get it too
    score: Floats,  # IN (n_places,): of each member of each pair's group, pair by pair
    is_chosen: Bools,  # TMP (members of the largest group,)
    chosen: Ints,  # OUT (n_places,): the instances chosen, pair by pair, ascending
    counts: Longs,  # OUT (n_labels,): how many of them belong to each label
    gap: Floats,  # OUT (n_pairs,): from the last member chosen to the best that was not
) -> int:
    """Give each pair's label to the best members of its group; ties go to the smaller instance.

    Returns how many were chosen. The gap is infinite where nobody is left, or the group is empty.
    """
    at = 0
    out = 0
    for label in range(label_indptr.size - 1):
        begin = out
        for p in range(label_indptr[label], label_indptr[label + 1]):
            first = group_indptr[label_groups[p]]
            size = group_indptr[label_groups[p] + 1] - first
            last = np.float32(np.inf)
            for m in range(size):
                is_chosen[m] = False
            for _ in range(min(wanted[p] if wanted.size > 0 else 1, size)):
                best = -1
                for m in range(size):
                    if not is_chosen[m] and (best < 0 or score[at + m] > score[at + best] + TIE):
                        best = m
                is_chosen[best] = True
                last = score[at + best]
            gap[p] = np.inf
            for m in range(size):
                if is_chosen[m] or score[at + m] > last - slack:
                    chosen[out] = members[first + m]
                    out += 1
                else:
                    gap[p] = min(gap[p], max(last - score[at + m], np.float32(0)))
            at += size
        counts[label] = out - begin
    return out


@njit(nogil=True, cache=True)
def share_out(
    group_indptr: Longs,  # IN (n_groups + 1,)
    pair_group: Ints,  # IN (n_pairs,)
    temperature: float,  # IN, above 0
    score: Floats,  # IN (n_places,)
    share: Floats,  # OUT (n_places,): softmax of score / temperature over each pair's group
) -> None:
    """Divide each pair's label among the members of its group."""
    at = 0
    for p in range(pair_group.size):
        size = group_indptr[pair_group[p] + 1] - group_indptr[pair_group[p]]
        best = np.float32(-np.inf)
        for s in range(at, at + size):
            best = max(best, score[s])
        total = 0.0
        for s in range(at, at + size):
            share[s] = np.exp((score[s] - best) / temperature)
            total += share[s]
        for s in range(at, at + size):
            share[s] /= total
        at += size


@njit(nogil=True, cache=True)
def place_scores(
    group_indptr: Longs,  # IN (n_groups + 1,)
    members: Ints,  # IN: the instances of each group, ascending
    label_indptr: Longs,  # IN (n_labels + 1,): the groups of each label of this block
    label_groups: Ints,  # IN
    scored_indptr: Longs,  # IN (n_labels + 1,): the scored instances of each label
    scored: Ints,  # IN: all members of the label's groups are among them
    value: Floats,  # IN, like scored: NaN where nothing is known
    score_of: Floats,  # TMP (n_instances,)
    score: Floats,  # IN/OUT (n_places,): replaced wherever something is known of a pair
) -> None:
    """Look the scores of all places up; where none of a group's members has one, keep what is.

    A member without a score among others that have one comes last.
    """
    at = 0
    for label in range(label_indptr.size - 1):
        for e in range(scored_indptr[label], scored_indptr[label + 1]):
            score_of[scored[e]] = value[e]
        for p in range(label_indptr[label], label_indptr[label + 1]):
            first = group_indptr[label_groups[p]]
            last = group_indptr[label_groups[p] + 1]
            known = 0
            for m in range(first, last):
                known += not np.isnan(score_of[members[m]])
            if known > 0:
                for m in range(first, last):
                    found = score_of[members[m]]
                    score[at + m - first] = np.float32(-np.inf) if np.isnan(found) else found
            at += last - first
