"""The last level of a tree in which a label may live in several leaves.

An instance may reach several copies of a label; their scores become one (mean, max or sum) before
the top k is cut. Not every copy need be scored. What is known of a label's copies bounds its merged
score from below: the mean, for one, is at least the sum of the copies scored so far over the number
of copies in the beam. With T the k-th best of these bounds, a label whose best copy is below T (for
sums: T over the largest number of copies) cannot be among the k best. So leaves are visited best
first until they fall below that, and leaves further down only where they hold another copy of a
label still in question. The result is the same as if all leaves of the beam had been scored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitudes.kernels.arrays import Bools, Floats, Ints, Longs, Words
from multitudes.kernels.compiling import allocating, borrowing, inlined, prefetch
from multitudes.kernels.lane_masks import MATCHED, lowest_bit, matches
from multitudes.kernels.lanes import LANES, larger, less_equal, load, select, splat, store
from multitudes.kernels.search.beam_search import (
    FIRST_ROUND,
    RAW,
    fetch_visit,
    insert,
    order_visits,
    path_scores,
)
from multitudes.kernels.search.index import (
    BLOCK_FIRST,
    CHILD_COUNT,
    CHILD_FIRST,
    SearchArrays,
    blocks_of,
)
from multitudes.kernels.search.margins import add_up, block_margins

MEAN, MAX, SUM = 0, 1, 2  # how the scores of a label's copies become one

# A bound is a logarithm of summed float32, and may come out a little above the scores it is made
# of: some units of the last place, relative and absolute.
ROUNDING = np.float32(2e-6)


class Copies(NamedTuple):
    """Where the copies of labels are."""

    start: Any  # int64 (n_labels + 1,): first copy of each label
    slot: Any  # int64 (n_slots,): where it is
    leaf: Any  # int32 (n_slots,): in which leaf
    logs: Any  # float32: logarithm of any number of copies that a label has


@inlined
def place_of(leaf: Ints, count: int, wanted: int) -> int:
    """Return where a leaf stands in a beam; -1 where it does not.

    Compares whole vectors, and so reads up to 7 numbers beyond a beam, which do not count.
    """
    for start in range(0, count, MATCHED):
        place: Any = start + np.int64(lowest_bit(matches(leaf, start, wanted)))
        if place < min(count, start + MATCHED):
            return place
    return -1


@inlined
def copies_in_beam(label: int, copy: Copies, leaf: Ints, count: int) -> int:
    """Return how many of a label's leaves stand in a beam."""
    found = 0
    for s in range(copy.start[label], copy.start[label + 1]):
        found += place_of(leaf, count, copy.leaf[s]) >= 0
    return found


@inlined
def raise_bound(
    ids: Ints, bounds: Floats, count: int, label: int, score: float, copies: int,
    copy: Copies, merge: int,
) -> int:  # fmt: skip
    """Enter a copy's score into the ranked bounds of labels; returns the new count.

    A label that fell off the list before starts again from this copy alone: still a bound.
    """
    bound = score - copy.logs[copies] if merge == MEAN and copies > 1 else score
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


@inlined
def merged_score(
    index: SearchArrays, label: int, copy: Copies, leaf: Ints,
    count: int, room: Floats, kind: int, merge: int,
) -> np.float32:  # fmt: skip
    """Return the score of a label from all copies that its instance reached."""
    level = index.level_start.size - 2
    total = 0.0
    best = -np.inf
    reached = 0
    for s in range(copy.start[label], copy.start[label + 1]):
        place = place_of(leaf, count, copy.leaf[s])
        if place >= 0:
            g = index.level_start[level] + leaf[place]
            score = np.float64(room[place, copy.slot[s] - index.cluster[g, CHILD_FIRST]])
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


@inlined
def score_leaf(
    index: SearchArrays, g: int, n_blocks: int, parent: float, kind: int, power: int, total: Floats,
    scratch: Floats, room: Floats,
) -> float:  # fmt: skip
    """Write the path scores of a leaf's children (OUT float32 room), -inf where masked.

    Returns the best, or -inf where all are masked.
    """
    none = splat(np.float32(-np.inf))
    highest = none
    for block in range(n_blocks):
        at = index.cluster[g, BLOCK_FIRST] + block
        margin = block_margins(index, g, block, total)
        scored = path_scores(margin, parent, kind, power, scratch)
        scored = select(index.block_mask[at], scored, none)
        store(room, block * LANES, scored)
        highest = larger(highest, scored)
    store(scratch, 0, highest)
    best = scratch[0]
    for lane in range(1, LANES):
        best = max(best, scratch[lane])
    return best


@borrowing
def visit_leaves(
    x_indptr: Longs, x_indices: Ints, x_data: Floats, first_instance: int,  # IN: the block's X
    index: SearchArrays,  # IN
    kind: int, power: int,  # IN: how a margin becomes a score
    slack: float,  # IN float32: how far a copy may lie below the k-th bound and still matter
    copy: Copies, merge: int,  # IN: as in `rank_overlapping`
    leaf: Ints, leaf_score: Floats, leaf_count: Longs,  # IN (n, width), and (n,): the beams
    visits: int, visit_instance: Longs, visit_place: Longs,  # IN: which of them to visit, by leaf
    wanted: Floats,  # IN (n, width): 1 where a leaf is visited whatever the bar
    hit_code: Words, hit_at: Words, total: Floats, scratch: Floats,  # TMP
    room: Floats,  # OUT (n, width, stride): score of every child of every visited leaf
    leaf_best: Floats,  # OUT (n, width): the best of them
    visited: Bools,  # OUT (n, width)
    best_id: Ints, best_score: Floats, best_count: Longs,  # OUT (n, top_k): labels of best bounds
    bar: Floats,  # OUT (n,): copies below cannot matter
) -> None:  # fmt: skip
    """Score the children of leaves and note the best copies of each instance."""
    first_leaf = index.level_start[index.level_start.size - 2]
    for visit in range(-1, visits):
        fetch_visit(
            x_indptr, x_indices, x_data, first_instance, index, first_leaf, leaf,
            visits, visit_instance, visit_place, visit,
        )  # fmt: skip
        if visit < 0:
            continue
        i = visit_instance[visit]
        place = visit_place[visit]
        if leaf_score[i, place] < bar[i] and wanted[i, place] == 0:
            continue  # the bar has risen since the visit was listed
        g = first_leaf + leaf[i, place]
        n_blocks = blocks_of(index.cluster[g, CHILD_COUNT])
        if visit + 1 < visits:
            ahead = room[visit_instance[visit + 1], visit_place[visit + 1]]
            for block in range(n_blocks):
                prefetch(ahead, block * LANES)
        begin = x_indptr[first_instance + i]
        end = x_indptr[first_instance + i + 1]
        add_up(index, g, x_indices, x_data, begin, end, hit_code, hit_at, total)
        own_room = room[i, place]
        highest = score_leaf(
            index, g, n_blocks, leaf_score[i, place], kind, power, total, scratch, own_room
        )
        leaf_best[i, place] = highest
        visited[i, place] = True
        if kind != RAW and (
            best_count[i] < best_id.shape[1] or highest >= best_score[i, best_count[i] - 1]
        ):
            best_count[i] = note_best(
                index, g, n_blocks, own_room, copy, merge,
                leaf[i], leaf_count[i], best_id[i], best_score[i], best_count[i],
            )  # fmt: skip
        if best_count[i] == best_id.shape[1]:
            worst = best_score[i, best_count[i] - 1]
            bar[i] = worst - slack - ROUNDING * (np.float32(1.0) + abs(worst))


@inlined
def note_best(
    index: SearchArrays, g: int, n_blocks: int, room: Floats, copy: Copies,
    merge: int, leaf: Ints, leaf_count: int, ids: Ints, bounds: Floats, count: int,
) -> int:  # fmt: skip
    """Raise the bounds of a leaf's labels; returns the new count of the list."""
    for block in range(n_blocks):
        worst = bounds[count - 1] if count == ids.size else np.float32(-np.inf)
        better = less_equal(splat(worst), load(room, block * LANES))
        better &= index.block_mask[index.cluster[g, BLOCK_FIRST] + block]
        while better != 0:
            child = block * LANES + np.int64(lowest_bit(better))
            label = index.slot_labels[index.cluster[g, CHILD_FIRST] + child]
            copies = copies_in_beam(label, copy, leaf, leaf_count)
            count = raise_bound(ids, bounds, count, label, room[child], copies, copy, merge)
            better &= better - np.int32(1)
    return count


@inlined
def fetch_scores(
    index: SearchArrays, leaf: Ints, count: int, visited: Bools, leaf_best: Floats, room: Floats,
    bar: float,
) -> None:  # fmt: skip
    """Start loading the scores that `find_candidates` will read."""
    first_leaf = index.level_start[index.level_start.size - 2]
    for place in range(count):
        if visited[place] and leaf_best[place] >= bar:
            own = room[place]
            for block in range(blocks_of(index.cluster[first_leaf + leaf[place], CHILD_COUNT])):
                prefetch(own, block * LANES)


@inlined
def find_candidates(
    index: SearchArrays, leaf: Ints, count: int, visited: Bools, leaf_best: Floats, room: Floats,
    bar: float, seen: Bools, candidates: Ints,
) -> int:  # fmt: skip
    """Labels of one instance with a copy at or above `bar`, each once; returns their number."""
    level = index.level_start.size - 2
    found = 0
    for place in range(count):
        if not visited[place] or leaf_best[place] < bar:
            continue
        g = index.level_start[level] + leaf[place]
        for block in range(blocks_of(index.cluster[g, CHILD_COUNT])):
            better = less_equal(splat(bar), load(room[place], block * LANES))
            better &= index.block_mask[index.cluster[g, BLOCK_FIRST] + block]
            while better != 0:
                child = block * LANES + np.int64(lowest_bit(better))
                label = index.slot_labels[index.cluster[g, CHILD_FIRST] + child]
                if not seen[label]:
                    seen[label] = True
                    candidates[found] = label
                    found += 1
                better &= better - np.int32(1)
    for c in range(found):
        seen[candidates[c]] = False
    return found


@inlined
def note_wanted(
    label: int, copy: Copies, leaf: Ints, count: int,
    visited: Bools, wanted: Floats,
) -> int:  # fmt: skip
    """Mark the places of a beam that hold a copy not scored yet; returns how many it marked."""
    marked = 0
    for s in range(copy.start[label], copy.start[label + 1]):
        place = place_of(leaf, count, copy.leaf[s])
        if place >= 0 and not visited[place] and wanted[place] == 0:
            wanted[place] = 1
            marked += 1
    return marked


@inlined
def write_best(
    index: SearchArrays, found: int, candidates: Ints, copy: Copies,
    leaf: Ints, count: int, room: Floats, kind: int, merge: int, labels: Ints,
    scores: Floats,
) -> None:  # fmt: skip
    """Rank the candidates of one instance by their merged scores (OUT labels, scores)."""
    kept = 0
    for c in range(found):
        score = merged_score(index, candidates[c], copy, leaf, count, room, kind, merge)
        kept = insert(labels, scores, kept, candidates[c], score)
    for place in range(kept, labels.size):
        labels[place] = -1
        scores[place] = -np.inf


@allocating
def rank_overlapping(
    x_indptr: Longs,  # IN (n_instances + 1,)
    x_indices: Ints,  # IN
    x_data: Floats,  # IN
    first_instance: int,  # IN: the block's first row of X
    index: SearchArrays,  # IN: the whole tree
    copy: Copies,  # IN: of each label
    slack: float,  # IN float32: for sums the log of the largest number of copies of a label, else 0
    merge: int,  # IN: MEAN, MAX or SUM
    kind: int,  # IN: HINGE, SIGMOID or RAW
    power: int,  # IN
    leaf: Ints,  # IN (n, width): the beams, best first
    leaf_score: Floats,  # IN (n, width)
    count: Longs,  # IN (n,): leaves in each beam
    seen: Bools,  # TMP (n_labels,): all False, and False again afterwards
    room: Floats,  # TMP (n, width, stride): stride holds the largest leaf's blocks
    labels: Ints,  # OUT (n, top_k)
    scores: Floats,  # OUT (n, top_k)
) -> None:
    """Rank the labels in the leaves of each beam, copies of a label as one."""
    n, width = leaf.shape
    top_k = labels.shape[1]
    visit_instance = np.empty(n * width, np.int64)
    visit_place = np.empty(n * width, np.int64)
    visited = np.empty((n, width), np.bool_)
    leaf_best = np.empty((n, width), np.float32)
    wanted = np.empty((n, width), np.float32)  # 1 or 0: scores that `order_visits` can read
    best_id = np.empty((n, top_k), np.int32)
    best_score = np.empty((n, top_k), np.float32)
    best_count = np.empty(n, np.int64)
    bar = np.empty(n, np.float32)
    longest = 0
    for i in range(n):
        best_count[i] = 0
        bar[i] = -np.inf
        longest = max(longest, x_indptr[first_instance + i + 1] - x_indptr[first_instance + i])
        for place in range(width):
            visited[i, place] = False
            wanted[i, place] = 0
    hit_code = np.empty(longest + 1, np.uint64)
    hit_at = np.empty(longest + 1, np.uint64)
    total = np.empty(index.largest_chunk * LANES, np.float32)
    scratch = np.empty(LANES, np.float32)
    ends = np.empty(index.cluster.shape[0] + 1 if n > 1 else 0, np.int64)
    candidates = np.empty(width * room.shape[2], np.int32)
    n_leaves = index.level_start[-1] - index.level_start[-2]
    from_place = np.int64(0)
    while from_place < width:
        # Two rounds: more would save few visits, and each reads all leaves again.
        to_place = min(width, FIRST_ROUND) if from_place == 0 else width
        visits = order_visits(
            leaf, leaf_score, count, from_place, to_place, bar, ends, n_leaves,
            visit_instance, visit_place,
        )  # fmt: skip
        visit_leaves(
            x_indptr, x_indices, x_data, first_instance, index, kind, power, slack,
            copy, merge, leaf, leaf_score, count, visits,
            visit_instance, visit_place, wanted,
            hit_code, hit_at, total, scratch, room, leaf_best, visited,
            best_id, best_score, best_count, bar,
        )  # fmt: skip
        from_place = to_place
    unfinished = np.empty(n, np.bool_)
    for i in range(n):
        if i + 1 < n:
            after = i + 1
            fetch_scores(
                index, leaf[after], count[after], visited[after], leaf_best[after], room[after],
                bar[after],
            )  # fmt: skip
        found = find_candidates(
            index, leaf[i], count[i], visited[i], leaf_best[i], room[i], bar[i], seen, candidates
        )
        missing = 0
        for c in range(found):
            missing += note_wanted(
                candidates[c], copy, leaf[i], count[i], visited[i],
                wanted[i],
            )  # fmt: skip
        unfinished[i] = missing > 0
        if missing == 0:
            write_best(
                index, found, candidates, copy, leaf[i], count[i], room[i],
                kind, merge, labels[i], scores[i],
            )  # fmt: skip
    visits = order_visits(
        leaf, wanted, count, np.int64(0), width, np.ones(n, np.float32), ends, n_leaves,
        visit_instance, visit_place,
    )  # fmt: skip
    visit_leaves(
        x_indptr, x_indices, x_data, first_instance, index, kind, power, slack,
        copy, merge, leaf, leaf_score, count, visits,
        visit_instance, visit_place, wanted, hit_code, hit_at, total, scratch, room, leaf_best,
        visited, best_id, best_score, best_count, bar,
    )  # fmt: skip
    for i in range(n):
        if unfinished[i]:
            found = find_candidates(
                index, leaf[i], count[i], visited[i], leaf_best[i], room[i], bar[i], seen,
                candidates,
            )  # fmt: skip
            write_best(
                index, found, candidates, copy, leaf[i], count[i], room[i],
                kind, merge, labels[i], scores[i],
            )  # fmt: skip
