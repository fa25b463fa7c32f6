"""Beam search through a tree of chunks, for a block of instances or a single one.

Level by level, each instance keeps its `width` best clusters and scores their children. Instances
are visited chunk by chunk, so that a chunk's weights are in cache for all that reached it. A
feature is found in a chunk through a dense map where many instances share the chunk, through the
chunk's buckets where few do: the same rows in the same order, so a batch equals its single rows.

Path scores are sums of logarithms; nothing is exponentiated before the end. A child never scores
above its parent (hinge and sigmoid), so once an instance has enough children, clusters that score
below the worst of them are not visited at all. Beams are therefore taken best places first, in a
few rounds: the result is the same, about half the visits are saved.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Floats, Ints, Longs, Vector
from multitudes.kernels.compiling import inner, prefetch
from multitudes.kernels.lanes import (
    LANES,
    fma,
    larger,
    less_equal,
    load,
    number,
    splat,
    store,
)

HINGE, SIGMOID, RAW = 0, 1, 2

# A map costs a write per row of the chunk, and saves some steps per feature met.
MAP_PAYS = 64
# Places of the beam visited in the first round; each later round goes twice as far.
FIRST_ROUND = 2


class SearchArrays(NamedTuple):
    """The whole tree as flat arrays; clusters are numbered through all levels."""

    level_start: Any  # int64 (depth + 1,): number of the first cluster of each level
    child_first: Any  # int64 (n_clusters,): first child, counted within its own level
    child_count: Any  # int64 (n_clusters,)
    block_first: Any  # int64 (n_clusters,): first block of 16 children
    block_mask: Any  # int32 (n_blocks,): which lanes hold a child that may be returned
    child_scale: Any  # float32 (n_blocks * 16,): what a stored weight of the child is worth
    child_bias: Any  # float32 (n_blocks * 16,)
    chunk_row: Any  # int64 (n_clusters + 1,)
    chunk_dense: Any  # uint8 (n_clusters,)
    chunk_shift: Any  # uint8 (n_clusters,)
    chunk_bucket: Any  # int64 (n_clusters,)
    bucket: Any  # int32: first row of each bucket, counted from the chunk's first
    row_feature: Any  # int32 (n_rows,)
    row_place: Any  # int64 (2 * (n_rows + 1),): first segment and first entry of each row
    segment_block: Any  # uint16 (n_segments,)
    segment_value: Any  # float32, uint16 (float16 bits) or int8 (n_segments * 16,)
    entry_child: Any  # uint16 (n_entries,)
    entry_value: Any  # as segment_value (n_entries,)
    slot_labels: Any  # int32 (n_slots,)
    largest_chunk: int  # blocks of the cluster with most children


@njit(nogil=True, cache=True)
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


@inner
def find_rows(
    index: SearchArrays, g: int, x_indices: Ints, begin: int, end: int, hit_row: Longs,
    hit_at: Longs,
) -> int:  # fmt: skip
    """Rows of chunk g that an instance's features meet, through the buckets; their number."""
    first = index.chunk_row[g]
    shift = index.chunk_shift[g]
    hits = 0
    for t in range(begin, end):
        feature = x_indices[t]
        b = index.chunk_bucket[g] + (feature >> shift)
        row = first + index.bucket[b]
        last = first + index.bucket[b + 1]
        while row < last and index.row_feature[row] < feature:
            row += 1
        if row < last and index.row_feature[row] == feature:
            hit_row[hits] = row
            hit_at[hits] = t
            hits += 1
    return hits


@inner
def map_worth_it(visits: int, rows: int) -> bool:
    """Return whether this number of visits to a chunk pays for a map of its rows."""
    return visits > 1 and visits * MAP_PAYS > rows


@njit(nogil=True, cache=True)
def map_rows(
    row_of: Ints, first: int, last: int, x_indices: Ints, begin: int, end: int, hit_row: Longs,
    hit_at: Longs,
) -> int:  # fmt: skip
    """Find the same rows as `find_rows`, through a map from feature to row; returns their number.

    The map may hold rows of other chunks from before: they lie outside of first <= row < last.
    """
    hits = 0
    for t in range(begin, end):
        row = row_of[x_indices[t]]
        hit_row[hits] = row
        hit_at[hits] = t
        hits += first <= row < last
    return hits


@inner
def add_dense(
    index: SearchArrays, g: int, n_blocks: int, hits: int, hit_row: Longs, hit_at: Longs,
    x_data: Floats, total: Floats,
) -> None:  # fmt: skip
    """Sum an instance's values times a dense chunk's rows; each block adds up in registers."""
    first = index.chunk_row[g]
    segment_at = index.row_place[2 * first]
    values = index.segment_value
    for block in range(n_blocks):
        even = splat(np.float32(0.0))
        odd = splat(np.float32(0.0))
        h = 0
        while h + 1 < hits:
            at = segment_at + (hit_row[h] - first) * n_blocks + block
            even = fma(splat(x_data[hit_at[h]]), load(values, at * LANES), even)
            at = segment_at + (hit_row[h + 1] - first) * n_blocks + block
            odd = fma(splat(x_data[hit_at[h + 1]]), load(values, at * LANES), odd)
            h += 2
        if h < hits:
            at = segment_at + (hit_row[h] - first) * n_blocks + block
            even = fma(splat(x_data[hit_at[h]]), load(values, at * LANES), even)
        store(total, block * LANES, even + odd)


@inner
def add_sparse(
    index: SearchArrays, n_blocks: int, hits: int, hit_row: Longs, hit_at: Longs, x_data: Floats,
    total: Floats,
) -> None:  # fmt: skip
    """Sum an instance's values times a sparse chunk's rows."""
    for block in range(n_blocks):
        store(total, block * LANES, splat(np.float32(0.0)))
    for h in range(hits):  # all rows are on their way before the first is read
        row = hit_row[h]
        prefetch(index.segment_value, index.row_place[2 * row] * LANES)
        prefetch(index.entry_child, index.row_place[2 * row + 1])
        prefetch(index.entry_value, index.row_place[2 * row + 1])
    for h in range(hits):
        row = hit_row[h]
        value = x_data[hit_at[h]]
        many = splat(value)
        for s in range(index.row_place[2 * row], index.row_place[2 * row + 2]):
            at = LANES * np.int64(index.segment_block[s])
            store(total, at, fma(many, load(index.segment_value, s * LANES), load(total, at)))
        for u in range(index.row_place[2 * row + 1], index.row_place[2 * row + 3]):
            total[index.entry_child[u]] += value * number(index.entry_value, u)


@inner
def add_up(
    index: SearchArrays, g: int, n_blocks: int, mapped: bool, row_of: Ints, x_indices: Ints,
    x_data: Floats, begin: int, end: int, hit_row: Longs, hit_at: Longs, total: Floats,
) -> None:  # fmt: skip
    """Sum an instance's values times the weights of chunk g, for all children (OUT total)."""
    if mapped:
        hits = map_rows(
            row_of, index.chunk_row[g], index.chunk_row[g + 1], x_indices, begin, end,
            hit_row, hit_at,
        )  # fmt: skip
    else:
        hits = find_rows(index, g, x_indices, begin, end, hit_row, hit_at)
    if index.chunk_dense[g]:
        add_dense(index, g, n_blocks, hits, hit_row, hit_at, x_data, total)
    else:
        add_sparse(index, n_blocks, hits, hit_row, hit_at, x_data, total)


@inner
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


@inner
def keep_children(
    index: SearchArrays, g: int, n_blocks: int, names: Ints, total: Floats, parent: float,
    kind: int, power: int, scratch: Floats, ids: Ints, scores: Floats, count: int,
) -> int:  # fmt: skip
    """Rank the scored children of cluster g among those kept so far; returns the new count."""
    for block in range(n_blocks):
        at = (index.block_first[g] + block) * LANES
        margin = fma(
            load(total, block * LANES), load(index.child_scale, at), load(index.child_bias, at)
        )
        found = path_scores(margin, parent, kind, power, scratch)
        worst = scores[count - 1] if count == ids.size else np.float32(-np.inf)
        better = less_equal(splat(worst), found) & index.block_mask[index.block_first[g] + block]
        if better == 0:
            continue
        store(scratch, 0, found)
        child = index.child_first[g] + block * LANES
        lane = 0
        while better != 0:
            if better & 1:
                name = names[child + lane] if names.size > 0 else np.int32(child + lane)
                count = insert(ids, scores, count, name, scratch[lane])
            better >>= 1
            lane += 1
    return count


@njit(nogil=True, cache=True)
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


@inner
def fetch_instance(
    x_indptr: Longs, x_indices: Ints, x_data: Floats, first_instance: int, visit_instance: Longs,
    visit: int,
) -> None:  # fmt: skip
    """Fetch the features that the visit after the next will read."""
    following = first_instance + visit_instance[visit + 2]
    for t in range(x_indptr[following], x_indptr[following + 1], LANES):
        prefetch(x_indices, t)
        prefetch(x_data, t)


@inner
def end_of_run(
    cluster: Ints, visits: int, visit_instance: Longs, visit_place: Longs, at: int
) -> int:
    """Return where the visits to the cluster of visit `at` end."""
    own = cluster[visit_instance[at], visit_place[at]]
    until = at + 1
    while until < visits and cluster[visit_instance[until], visit_place[until]] == own:
        until += 1
    return until


@inner
def map_chunk(index: SearchArrays, g: int, visits: int, row_of: Ints) -> bool:
    """Enter the rows of a chunk into the map if the visits pay for it; returns whether."""
    first = index.chunk_row[g]
    last = index.chunk_row[g + 1]
    mapped = map_worth_it(visits, last - first)
    if mapped:
        for row in range(first, last):
            row_of[index.row_feature[row]] = row
    return mapped


@inner
def visit_clusters(
    x_indptr: Longs, x_indices: Ints, x_data: Floats, first_instance: int,  # IN: the block's X
    index: SearchArrays,  # IN
    level: int,  # IN
    names: Ints,  # IN: what the children are called; empty for their own numbers
    kind: int, power: int,  # IN: how a margin becomes a score
    cluster: Ints, score: Floats,  # IN: the beams
    visits: int, visit_instance: Longs, visit_place: Longs,  # IN: which to visit, by cluster
    row_of: Ints,  # TMP (n_features,): -1, or a row of this index with the feature
    hit_row: Longs, hit_at: Longs, total: Floats, scratch: Floats,  # TMP
    bar: Floats,  # OUT (n,): worst score kept, where a list is full
    ids: Ints, scores: Floats, count: Longs,  # OUT: the ranked children of each instance
) -> None:  # fmt: skip
    """Score the children of the visited clusters and keep the best of each instance."""
    at = 0
    while at < visits:
        until = end_of_run(cluster, visits, visit_instance, visit_place, at)
        g = index.level_start[level] + cluster[visit_instance[at], visit_place[at]]
        n_blocks = (index.child_count[g] + LANES - 1) // LANES
        mapped = map_chunk(index, g, until - at, row_of)
        for visit in range(at, until):
            i = visit_instance[visit]
            if visit + 2 < until:
                fetch_instance(x_indptr, x_indices, x_data, first_instance, visit_instance, visit)
            begin = x_indptr[first_instance + i]
            end = x_indptr[first_instance + i + 1]
            add_up(
                index, g, n_blocks, mapped, row_of, x_indices, x_data, begin, end,
                hit_row, hit_at, total,
            )  # fmt: skip
            parent = score[i, visit_place[visit]]
            count[i] = keep_children(
                index, g, n_blocks, names, total, parent, kind, power, scratch,
                ids[i], scores[i], count[i],
            )  # fmt: skip
            if count[i] == ids.shape[1] and kind != RAW:
                bar[i] = scores[i, count[i] - 1]
        at = until


@njit(nogil=True, cache=True)
def search_block(
    x_indptr: Longs,  # IN (n_instances + 1,)
    x_indices: Ints,  # IN
    x_data: Floats,  # IN
    first_instance: int,  # IN: the block's first row of X
    index: SearchArrays,  # IN
    beam_width: int,  # IN, at least 1
    kind: int,  # IN: HINGE, SIGMOID or RAW
    power: int,  # IN: of the hinge
    row_of: Ints,  # TMP (n_features,): -1, or a row of this index with the feature
    labels: Ints,  # OUT (n, top_k): -1 where there are no more
    scores: Floats,  # OUT (n, top_k): logarithms for HINGE and SIGMOID; -inf beside -1
) -> None:
    """The best `top_k` labels of each instance of a block, n = labels.shape[0] rows of X."""
    n = labels.shape[0]
    depth = index.level_start.size - 1
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
    hit_row = np.empty(longest + 1, np.int64)
    hit_at = np.empty(longest + 1, np.int64)
    total = np.empty(index.largest_chunk * LANES, np.float32)
    scratch = np.empty(LANES, np.float32)
    no_names = np.empty(0, np.int32)
    ends = np.empty(index.child_count.size + 1 if n > 1 else 0, np.int64)
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
                visits, visit_instance, visit_place, row_of, hit_row, hit_at, total, scratch, bar,
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
