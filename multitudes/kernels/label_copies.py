"""The copies of one label: where its leaves stand in a beam, and how scores become one."""

from __future__ import annotations

import numpy as np

from multitudes.kernels.beam_search import RAW, insert
from multitudes.kernels.compiling import inner

MEAN, MAX, SUM = 0, 1, 2


@inner
def place_of(leaf, count, wanted):
    """Where a leaf stands in a beam; -1 where it does not."""
    for place in range(count):
        if leaf[place] == wanted:
            return place
    return -1


@inner
def copies_in_beam(label, slot_start, slots, slot_leaf, leaf, count):
    """How many of a label's leaves stand in a beam."""
    found = 0
    for s in range(slot_start[label], slot_start[label + 1]):
        found += place_of(leaf, count, slot_leaf[slots[s]]) >= 0
    return found


@inner
def raise_bound(ids, bounds, count, label, score, copies, merge):
    """Enter a copy's score into the ranked bounds of labels; returns the new count.

    A label that fell off the list before starts again from this copy alone: still a bound.
    """
    bound = score - np.float32(np.log(copies)) if merge == MEAN and copies > 1 else score
    for at in range(count):
        if ids[at] == label:
            if merge == MAX:
                if bound <= bounds[at]:
                    return count
            else:
                high = max(bound, bounds[at])
                low = min(bound, bounds[at])
                bound = high + np.float32(np.log1p(np.exp(low - high)))
            for later in range(at, count - 1):
                ids[later] = ids[later + 1]
                bounds[later] = bounds[later + 1]
            count -= 1
            break
    return insert(ids, bounds, count, label, bound)


@inner
def merged_score(index, label, slot_start, slots, slot_leaf, leaf, count, room, kind, merge):
    """The score of a label from all copies that its instance reached."""
    level = index.level_start.size - 2
    total = 0.0
    best = -np.inf
    reached = 0
    for s in range(slot_start[label], slot_start[label + 1]):
        place = place_of(leaf, count, slot_leaf[slots[s]])
        if place >= 0:
            g = index.level_start[level] + leaf[place]
            score = np.float64(room[place, slots[s] - index.child_first[g]])
            best = max(best, score)
            total += score if kind == RAW else np.exp(score)
            reached += 1
    if reached == 1 or merge == MAX:
        return np.float32(best)
    if merge == MEAN:
        total /= reached
    if kind == RAW:
        return np.float32(total)
    return np.float32(np.log(total)) if total > 0.0 else np.float32(best)
