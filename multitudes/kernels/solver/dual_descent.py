"""Train the sibling labels of one cluster together, by dual coordinate descent.

Each label k of a cluster is a binary problem over the same instances i,

    min_w  1/2 |w|^2 + sum_i C_ik loss(y_ik (w . x_i + bias w_b)),    y_ik = +1 or -1,

with the squared hinge or the hinge. Its dual has one variable per instance, and coordinate descent
(Hsieh et al., ICML 2008) reads an instance, computes its margin, and moves one variable. Here the
siblings move in step, 16 lanes at a time (`multitudes.kernels.lanes`): an instance is read once per
epoch for all of them. A lane stops moving once its own projected gradients span less than
`epsilon`, so a label's result does not depend on how long its siblings take.

A feature that a single instance of the cluster has is not stored while training: its weight is
always y alpha x of that instance, so its share of the margin is y alpha x^2. More than half of a
cluster's features are of that kind.

Memory: the caller owns all buffers; IN is read, OUT is written, TMP is scratch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitudes.kernels.arrays import Array, Floats, Ints, Lanes, Longs
from multitudes.kernels.compiling import inlined, kernel, merged, prefetch
from multitudes.kernels.lanes import (
    fma,
    larger,
    less,
    less_equal,
    load,
    select,
    smaller,
    splat,
    store,
)

HUGE = np.float32(3.0e38)

# A projected gradient below this share of the tolerance is left alone: the step would change
# nothing that matters, and costs a second pass over the row.
SMALL_STEP = np.float32(0.125)
ONCE = -2  # of a feature that has been met in one row
AHEAD = 4  # instances between asking for one and copying it
LINE = 16  # values in a line of the cache
ONE, TWO = np.uint64(1), np.uint64(2)  # of unsigned places, which numba does not test for sign
# Bytes of a problem from which it outgrows the caches next to the core, so that fetching the next
# rows beforehand pays.
PREFETCH_FROM = 1 << 22
BYTES_OF_ROW = 32  # what is stored of a row beside its values and its dual variables


@merged
def next_random(state: Any) -> Any:
    """xorshift64*: one step of a small, fast, seedable generator."""
    state ^= state >> np.uint64(12)
    state ^= state << np.uint64(25)
    state ^= state >> np.uint64(27)
    return state


@merged
def shuffle(order: Ints, count: int, state: Any) -> Any:
    """Fisher-Yates over order[:count] (OUT int32); returns the generator's new state."""
    for j in range(count - 1, 0, -1):
        state = next_random(state)
        draw = (state * np.uint64(2685821657736338717)) >> np.uint64(32)
        other = np.int64((draw * np.uint64(j + 1)) >> np.uint64(32))
        kept = order[j]
        order[j] = order[other]
        order[other] = kept
    return state


@merged
def fetch_instance(x_indptr: Longs, x_indices: Ints, x_data: Floats, instance: int) -> None:
    """Fetch the values of an instance."""
    for t in range(np.uint64(x_indptr[instance]), np.uint64(x_indptr[instance + 1]), LINE):
        prefetch(x_indices, t)
        prefetch(x_data, t)


@inlined
def fetch_ahead(x_indptr: Longs, x_indices: Ints, x_data: Floats, rows: Ints, r: int) -> None:
    """Fetch a later row, and where a still later one begins."""
    if r + 2 * AHEAD < rows.size:
        prefetch(x_indptr, rows[r + 2 * AHEAD])
        fetch_instance(x_indptr, x_indices, x_data, rows[r + AHEAD])


@merged
def gather(
    x_indptr: Longs,  # IN (n_instances + 1,)
    x_indices: Ints,  # IN
    x_data: Floats,  # IN
    rows: Ints,  # IN (n_rows,): the cluster's instances
    apart: bool,  # IN bool: number features of a single row last, and put them at the row's end
    local_of: Ints,  # TMP (n_features,): all -1, and -1 again after `forget`
    feature_of: Ints,  # OUT: global id of each local feature
    begin: Longs,  # OUT (n_rows,): where each row's entries begin
    middle: Longs,  # OUT (n_rows,): where its features that no other row has begin
    finish: Longs,  # OUT (n_rows,): and where they end
    local: Ints,  # OUT: local feature of each entry
    value: Floats,  # OUT
) -> int:
    """Copy the rows of one cluster with features renumbered 0, 1, ...; returns their number."""
    n_local = 0
    for r in range(rows.size):
        i = rows[r]
        fetch_ahead(x_indptr, x_indices, x_data, rows, r)
        for t in range(np.uint64(x_indptr[i]), np.uint64(x_indptr[i + 1])):
            feature = np.uint32(x_indices[t])
            own = local_of[feature]
            if own == -1 and apart:
                local_of[feature] = ONCE
            elif own < 0:
                local_of[feature] = n_local
                feature_of[n_local] = feature
                n_local += 1
    at = 0
    for r in range(rows.size):
        begin[r] = at
        i = rows[r]
        back = at + x_indptr[i + 1] - x_indptr[i]
        finish[r] = back
        fetch_ahead(x_indptr, x_indices, x_data, rows, r)
        for t in range(np.uint64(x_indptr[i]), np.uint64(x_indptr[i + 1])):
            feature = np.uint32(x_indices[t])
            own = local_of[feature]
            to: Any = np.uint64(at)
            if own == ONCE:
                own = n_local
                feature_of[own] = feature
                n_local += 1
                back -= 1
                to = np.uint64(back)
            else:
                at += 1
            local[to] = own
            value[to] = x_data[t]
        middle[r] = at
        at = finish[r]
    return n_local


@merged
def forget(local_of: Ints, feature_of: Ints, n_local: int) -> None:
    """Make `local_of` all -1 again by touching only what `gather` touched."""
    for own in range(n_local):
        local_of[feature_of[own]] = -1


@kernel
def positives(
    y_indptr: Longs,  # IN (n_instances + 1,)
    y_indices: Ints,  # IN, sorted within a row: children at this level
    rows: Ints,  # IN (n_rows,)
    first: int,  # IN: first child
    count: int,  # IN: number of children
    width: int,  # IN: children of a block, at most 16
    mask: Array,  # OUT int32 (n_blocks, n_rows): bit k of a block says if its child k is positive
) -> None:
    """Which of some consecutive children each row carries, in blocks."""
    for block in range(mask.shape[0]):
        for r in range(rows.size):
            mask[block, r] = 0
    for r in range(rows.size):
        if r + 2 * AHEAD < rows.size:
            prefetch(y_indptr, rows[r + 2 * AHEAD])
            prefetch(y_indices, y_indptr[rows[r + AHEAD]])
        low = y_indptr[rows[r]]
        end = y_indptr[rows[r] + 1]
        high = end
        while low < high:
            middle = (low + high) >> 1
            if y_indices[middle] < first:
                low = middle + 1
            else:
                high = middle
        while low < end and y_indices[low] < first + count:
            child = y_indices[low] - first
            mask[child // width, r] |= np.int32(1) << np.int32(child % width)
            low += 1


@merged
def outgrows_cache(begin: Longs, middle: Longs, n_local: int, width: int) -> bool:
    """Return whether weights, rows and dual variables together take `PREFETCH_FROM` bytes."""
    n_values = 0
    for r in range(begin.size):
        n_values += middle[r] - begin[r]
    n_bytes = 8 * n_values + BYTES_OF_ROW * begin.size + 4 * width * (n_local + begin.size)
    return n_bytes >= PREFETCH_FROM


@merged
def fetch_rows(
    order: Ints, j: int, begin: Longs, middle: Longs, local: Ints, value: Floats, square: Floats,
    weight: Floats, alone: Floats, mask: Ints, w: Floats, alpha: Floats, width: int,
) -> None:  # fmt: skip
    """Fetch the weights of the row after the one at j, the values of the next, and a later row."""
    following, second, later = order[j + 1], order[j + 2], order[j + 4]
    prefetch(begin, later)
    prefetch(middle, later)
    prefetch(mask, later)
    prefetch(square, later)
    prefetch(weight, later)
    prefetch(alone, later)
    prefetch(alpha, width * np.int64(later))
    for t in range(np.uint64(begin[following]), np.uint64(middle[following])):
        prefetch(w, width * np.int64(local[t]))
    for t in range(begin[second], middle[second], 16):
        prefetch(local, t)
        prefetch(value, t)


@kernel
def solve_lanes(
    begin: Longs,  # IN (n_rows,): where each row's entries begin
    finish: Longs,  # IN (n_rows,)
    local: Ints,  # IN: local feature of each entry
    value: Floats,  # IN
    square: Floats,  # IN (n_rows,): |x|^2 + bias^2
    weight: Floats,  # IN (n_rows,): instance weights, all > 0
    mask: Ints,  # IN (n_rows,): positives
    cost_positive: Floats,  # IN (16,): C of each lane's positives
    cost_negative: Floats,  # IN (16,)
    squared: bool,  # IN bool: squared hinge, else hinge
    bias: float,  # IN float32: value of the constant feature; 0 for none
    epsilon: float,  # IN float32
    max_epochs: int,  # IN int
    live: int,  # IN int32: mask of the lanes that hold a label
    state: Any,  # IN uint64: seed, not 0
    n_local: int,  # IN int: number of features; the constant one is number n_local
    w: Floats,  # OUT ((n_local + 1) * 16,), zero at the start
    alpha: Floats,  # TMP (n_rows * 16,), zero at the start
    order: Ints,  # TMP (n_rows,)
    middle: Longs,  # IN (n_rows,): where the entries of features that no other row has begin
    alone: Floats,  # IN (n_rows,): the sum of their squares
    lanes: Lanes,  # IN: WIDE or NARROW; wherever 16 is said above, it is this many
) -> int:
    """Minimize 16 sibling problems over the same rows; returns the number of epochs."""
    width = len(lanes)
    n_rows = mask.size
    zero = splat(np.float32(0.0), lanes)
    one = splat(np.float32(1.0), lanes)
    minus = splat(np.float32(-1.0), lanes)
    huge = splat(HUGE, lanes)
    small = splat(SMALL_STEP * epsilon, lanes)
    tolerance = splat(epsilon, lanes)
    biases = splat(bias, lanes)
    cost_yes = load(cost_positive, 0, lanes)
    cost_no = load(cost_negative, 0, lanes)
    half = splat(np.float32(0.5), lanes)
    constant = n_local * width
    far = outgrows_cache(begin, middle, n_local, width)
    for r in range(n_rows):
        order[r] = r
    epoch = 0
    while epoch < max_epochs and live != 0:
        epoch += 1
        state = shuffle(order, n_rows, state)
        highest = zero - huge
        lowest = huge
        for j in range(n_rows):
            r = order[j]
            if far and j + 4 < n_rows:
                fetch_rows(
                    order, j, begin, middle, local, value, square, weight, alone, mask, w, alpha,
                    width,
                )  # fmt: skip
            first, last = np.uint64(begin[r]), np.uint64(middle[r])
            even = biases * load(w, constant, lanes)
            odd = zero
            t: Any = first
            while t + ONE < last:
                even = fma(splat(value[t], lanes), load(w, width * np.int64(local[t]), lanes), even)
                odd = fma(
                    splat(value[t + ONE], lanes),
                    load(w, width * np.int64(local[t + ONE]), lanes),
                    odd,
                )
                t += TWO
            if t < last:
                even = fma(splat(value[t], lanes), load(w, width * np.int64(local[t]), lanes), even)
            y = select(mask[r], one, minus)
            cost = select(mask[r], cost_yes, cost_no) * splat(weight[r], lanes)
            if squared:
                ridge = half / cost
                upper = huge
            else:
                ridge = zero
                upper = cost
            own = load(alpha, width * np.int64(r), lanes)
            gradient = fma(own, ridge + splat(alone[r], lanes), y * (even + odd) - one)
            projected = select(less_equal(own, zero), smaller(gradient, zero), gradient)
            projected = select(less_equal(upper, own), larger(gradient, zero), projected)
            highest = larger(highest, projected)
            lowest = smaller(lowest, projected)
            moving = live & (less(small, projected) | less(projected, zero - small))
            if moving != 0:
                curvature = splat(square[r], lanes) + ridge
                moved = smaller(larger(own - gradient / curvature, zero), upper)
                moved = select(moving, moved, own)
                store(alpha, width * np.int64(r), moved)
                step = (moved - own) * y
                store(w, constant, fma(biases, step, load(w, constant, lanes)))
                for t in range(first, last):
                    at = width * np.int64(local[t])
                    store(w, at, fma(splat(value[t], lanes), step, load(w, at, lanes)))
        live &= less(tolerance, highest - lowest)
    for r in range(n_rows):
        step = load(alpha, width * np.int64(r), lanes) * select(mask[r], one, minus)
        for t in range(np.uint64(middle[r]), np.uint64(finish[r])):
            store(w, width * np.int64(local[t]), splat(value[t], lanes) * step)
    return epoch
