"""Beam search through a tree of chunks, for a block of instances or a single one.

Level by level, each instance keeps its `width` best clusters and scores their children. Instances
are visited cluster by cluster, so that its weights are in cache for all that reached it. Each visit
adds up the same weights in the same order, so a batch equals its single rows.

Path scores are sums of logarithms; nothing is exponentiated before the end. A child never scores
above its parent (hinge and sigmoid), so once an instance has enough children, clusters that score
below the worst of them are not visited at all. Beams are therefore taken best places first, in a
few rounds: the result is the same, about half the visits are saved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitudes.kernels.arrays import Floats, Ints, Longs, Vector, Words
from multitudes.kernels.compiling import allocating, borrowing, inlined, kernel, merged, prefetch
from multitudes.kernels.lane_masks import lowest_bit
from multitudes.kernels.lanes import LANES, larger, less_equal, load, splat, store
from multitudes.kernels.search.index import BLOCK_FIRST, CHILD_FIRST, SearchArrays
from multitudes.kernels.search.margins import add_up, block_margins, fetch_groups

HINGE, SIGMOID, RAW = 0, 1, 2

# Places of the beam visited in the first round; each later round goes twice as far.
FIRST_ROUND = 2


@kernel
def insert(ids: Ints, scores: Floats, count: int, new_id: int, new_score: float) -> int:
    """Put a candidate into a ranked list that holds `count`; returns the new count.

    Larger scores rank first, equal ones by smaller id; a full list drops its last.
    """
    at = count
    if count == ids.size:
        at = count - 1
        worse = new_score < scores[at] or (new_score == scores[at] and new_id > ids[at])
        if worse:
            return count
    while at > 0 and (
        new_score > scores[at - 1] or (new_score == scores[at - 1] and new_id < ids[at - 1])
    ):
        scores[at] = scores[at - 1]
        ids[at] = ids[at - 1]
        at -= 1
    scores[at] = new_score
    ids[at] = new_id
    return min(count + 1, ids.size)


@inlined
def path_scores(margin: Vector, parent: float, kind: int, power: int, scratch: Floats) -> Vector:
    """Scores of 16 children (lanes): the parent's plus the logarithm of the child's own."""
    if kind == HINGE:
        gap = larger(splat(np.float32(1.0)) - margin, splat(np.float32(0.0)))
        loss = gap
        for _ in range(power - 1):
            loss = loss * gap
        return splat(parent) - loss
    if kind == SIGMOID:
        store(scratch, 0, margin)
        for lane in range(LANES):
            v = scratch[lane]
            # log(sigmoid(v)), without overflow on either side
            scratch[lane] = min(v, np.float32(0.0)) - np.log1p(np.exp(-abs(v)))
        return splat(parent) + load(scratch, 0)
    return splat(parent) + margin


@merged
def keep_children(
    index: SearchArrays, g: int, n_blocks: int, names: Ints, total: Floats, parent: float,
    kind: int, power: int, scratch: Floats, ids: Ints, scores: Floats, count: int,
) -> int:  # fmt: skip
    """Rank the scored children of cluster g among those kept so far; returns the new count."""
    first_block = index.cluster[g, BLOCK_FIRST]
    for block in range(n_blocks):
        margin = block_margins(index, g, block, total)
        found = path_scores(margin, parent, kind, power, scratch)
        worst = scores[count - 1] if count == ids.size else np.float32(-np.inf)
        better = less_equal(splat(worst), found) & index.block_mask[first_block + block]
        if better == 0:
            continue
        store(scratch, 0, found)
        child = index.cluster[g, CHILD_FIRST] + block * LANES
        while better != 0:
            lane = lowest_bit(better)
            name = names[child + lane] if names.size > 0 else np.int32(child + lane)
            count = insert(ids, scores, count, name, scratch[lane])
            better &= better - np.int32(1)
    return count


@kernel
def order_visits(
    cluster: Ints,  # IN (n, width): each instance's beam, best first
    score: Floats,  # IN (n, width)
    count: Longs,  # IN (n,)
    from_place: int,  # IN: only places from_place <= place < to_place of the beams
    to_place: int,  # IN
    bar: Floats,  # IN (n,): a cluster that scores below cannot hold a child worth keeping
    ends: Longs,  # TMP (at least n_clusters + 1,)
    n_clusters: int,  # IN
    visit_instance: Longs,  # OUT
    visit_place: Longs,  # OUT
) -> int:
    """List the visits worth making, by cluster; returns their number."""
    n = count.size
    if n == 1:
        visits = 0
        for p in range(from_place, min(to_place, count[0])):
            if score[0, p] >= bar[0]:
                visit_instance[visits] = 0
                visit_place[visits] = p
                visits += 1
        return visits
    for c in range(n_clusters + 1):
        ends[c] = 0
    for i in range(n):
        for p in range(from_place, min(to_place, count[i])):
            if score[i, p] >= bar[i]:
                ends[cluster[i, p] + 1] += 1
    for c in range(n_clusters):
        ends[c + 1] += ends[c]
    visits = ends[n_clusters]
    for i in range(n):
        for p in range(from_place, min(to_place, count[i])):
            if score[i, p] >= bar[i]:
                c = cluster[i, p]
                visit_instance[ends[c]] = i
                visit_place[ends[c]] = p
                ends[c] += 1
    return visits


@inlined
def fetch_visit(
    x_indptr: Longs, x_indices: Ints, x_data: Floats, first_instance: int, index: SearchArrays,
    first_cluster: int, cluster: Ints, visits: int, visit_instance: Longs, visit_place: Longs,
    visit: int,
) -> None:  # fmt: skip
    """Start loading what the next visit will look up, and the features of the one after it."""
    if visit + 1 < visits:
        i = visit_instance[visit + 1]
        begin = x_indptr[first_instance + i]
        end = x_indptr[first_instance + i + 1]
        g = first_cluster + cluster[i, visit_place[visit + 1]]
        fetch_groups(index, g, x_indices, begin, end)
    if visit + 2 < visits:
        following = first_instance + visit_instance[visit + 2]
        for t in range(x_indptr[following], x_indptr[following + 1], LANES):
            prefetch(x_indices, t)
            prefetch(x_data, t)


@borrowing
def visit_clusters(
    x_indptr: Longs, x_indices: Ints, x_data: Floats, first_instance: int,  # IN: the block's X
    index: SearchArrays,  # IN
    level: int,  # IN
    names: Ints,  # IN: what the children are called; empty for their own numbers
    kind: int, power: int,  # IN: how a margin becomes a score
    cluster: Ints, score: Floats,  # IN: the beams
    visits: int, visit_instance: Longs, visit_place: Longs,  # IN: which to visit, by cluster
    hit_code: Words, hit_at: Words, total: Floats, scratch: Floats,  # TMP
    bar: Floats,  # OUT (n,): worst score kept, where a list is full
    ids: Ints, scores: Floats, count: Longs,  # OUT: the ranked children of each instance
) -> None:  # fmt: skip
    """Score the children of the visited clusters and keep the best of each instance."""
    first_cluster = index.level_start[level]
    for visit in range(-1, visits):
        fetch_visit(
            x_indptr, x_indices, x_data, first_instance, index, first_cluster, cluster,
            visits, visit_instance, visit_place, visit,
        )  # fmt: skip
        if visit < 0:
            continue
        i = visit_instance[visit]
        g = first_cluster + cluster[i, visit_place[visit]]
        begin = x_indptr[first_instance + i]
        end = x_indptr[first_instance + i + 1]
        n_blocks = add_up(index, g, x_indices, x_data, begin, end, hit_code, hit_at, total)
        parent = score[i, visit_place[visit]]
        count[i] = keep_children(
            index, g, n_blocks, names, total, parent, kind, power, scratch,
            ids[i], scores[i], count[i],
        )  # fmt: skip
        if count[i] == ids.shape[1] and kind != RAW:
            bar[i] = scores[i, count[i] - 1]


@allocating
def search_block(
    x_indptr: Longs,  # IN (n_instances + 1,)
    x_indices: Ints,  # IN
    x_data: Floats,  # IN
    first_instance: int,  # IN: the block's first row of X
    index: SearchArrays,  # IN
    beam_width: int,  # IN, at least 1
    kind: int,  # IN: HINGE, SIGMOID or RAW
    power: int,  # IN: of the hinge
    labels: Ints,  # OUT (n, top_k): -1 where there are no more
    scores: Floats,  # OUT (n, top_k): logarithms for HINGE and SIGMOID; -inf beside -1
) -> None:
    """The best `top_k` labels of each instance of a block, n = labels.shape[0] rows of X."""
    n = labels.shape[0]
    cluster = np.empty((n, beam_width), np.int32)
    score = np.empty((n, beam_width), np.float32)
    count = np.empty(n, np.int64)
    next_cluster = np.empty((n, beam_width), np.int32)
    next_score = np.empty((n, beam_width), np.float32)
    next_count = np.empty(n, np.int64)
    visit_instance = np.empty(n * beam_width, np.int64)
    visit_place = np.empty(n * beam_width, np.int64)
    bar = np.empty(n, np.float32)
    longest = 0
    for i in range(first_instance, first_instance + n):
        longest = max(longest, x_indptr[i + 1] - x_indptr[i])
    hit_code = np.empty(longest + 1, np.uint64)
    hit_at = np.empty(longest + 1, np.uint64)
    total = np.empty(index.largest_chunk * LANES, np.float32)
    scratch = np.empty(LANES, np.float32)
    no_names = np.empty(0, np.int32)
    ends = np.empty(index.cluster.shape[0] + 1 if n > 1 else 0, np.int64)
    depth = index.level_start.size - 1
    for i in range(n):
        cluster[i, 0] = 0
        score[i, 0] = 0.0
        count[i] = 1
    for level in range(depth):
        leaf = level == depth - 1
        n_clusters = index.level_start[level + 1] - index.level_start[level]
        for i in range(n):
            next_count[i] = 0
            bar[i] = -np.inf
        from_place: Any = np.int64(0)  # not the literal 0, which would be a type of its own
        while from_place < beam_width:
            to_place = min(beam_width, 2 * from_place + FIRST_ROUND)
            visits = order_visits(
                cluster, score, count, from_place, to_place, bar, ends, n_clusters,
                visit_instance, visit_place,
            )  # fmt: skip
            visit_clusters(
                x_indptr, x_indices, x_data, first_instance, index, level,
                index.slot_labels if leaf else no_names, kind, power, cluster, score,
                visits, visit_instance, visit_place, hit_code, hit_at, total, scratch, bar,
                labels if leaf else next_cluster, scores if leaf else next_score, next_count,
            )  # fmt: skip
            from_place = to_place
        cluster, next_cluster = next_cluster, cluster
        score, next_score = next_score, score
        count, next_count = next_count, count
    for i in range(n):
        for place in range(count[i], labels.shape[1]):
            labels[i, place] = -1
            scores[i, place] = -np.inf
