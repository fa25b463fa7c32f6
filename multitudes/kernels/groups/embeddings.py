"""EAGLE's label embeddings: how close each member of a group is to each label of the group.

A label's embedding e is never written down. It is a sum of rows of X, each with a coefficient, and
all that the steps need are the products of e and of the gradient with the members' rows:

    e . x    after a step is (e . x + step * gradient . x) / norm,
    norm     follows from e . gradient, which is the sum of e . x over the closest members.

So a pass over features is needed only when some group's closest member has changed; other steps
cost a few operations per member. The places of a label are the members of its groups, one after
the other; an instance that is in two of them has two places.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Floats, Ints, Longs, UInts
from multitudes.kernels.compiling import inner
from multitudes.kernels.groups.assignment import TIE
from multitudes.kernels.rows import ShiftedRows, add_row, dot_row, gather_rows, n_stored

# A sum of rows is zero where its squared length is at most this part of what it could have been.
CANCELLED = 1e-10
# Values of a label's rows up to which they are copied to lie together; a label with more would not
# stay in the cache, and copies would take memory.
GATHERED = 1 << 18


class Places(NamedTuple):
    """The places of one label.

    Parameters
    ----------
    rows : SparseRows, or float32 array
    row : int32 array (n_places,)
        The row of each place.
    n_features : int
        Of these rows.
    weights : float32 array (n_places,)
        How often the place's group lists the label.
    lengths, shift, shift_square
        As of `ShiftedRows`, of each place.
    start : int64 array (n_groups + 1,)
        Where each group's places begin.
    """

    rows: Any
    row: Any
    n_features: Any
    weights: Any
    lengths: Any
    shift: Any
    shift_square: Any
    start: Any


@inner
def list_places(
    group_indptr: Longs, members: Ints, groups: Ints, instance: Ints, start: Longs
) -> int:
    """Write down the places of a label (OUT instance, start); returns their number."""
    at = 0
    for p in range(groups.size):
        start[p] = at
        for m in range(group_indptr[groups[p]], group_indptr[groups[p] + 1]):
            instance[at] = members[m]
            at += 1
    start[groups.size] = at
    return at


@inner
def products(x: Places, total: Floats, n_summed: float, sum_shift: float, out: Floats) -> None:
    """Multiply the row of each place with total, both shifted (OUT out).

    `total` is a sum of rows whose weights add up to `n_summed`, and their shifts to `sum_shift`.
    """
    constant = np.float32(n_summed * x.shift_square - sum_shift)
    times = np.float32(n_summed)
    for s in range(x.row.size):
        out[s] = dot_row(x.rows, x.row[s], total) + (constant - times * x.shift[s])


@inner
def clear(x: Places, total: Floats) -> None:
    """Set a sum of rows back to 0."""
    for f in range(x.n_features):
        total[f] = 0


@inner
def start_from_all(x: Places, total: Floats, product: Floats) -> float:
    """Products of all places with their unit sum, which `total` holds; its length, or 0."""
    reach = 0.0
    sum_shift = 0.0
    n_summed = 0.0
    for s in range(x.row.size):
        reach += x.weights[s] * x.lengths[s]
        sum_shift += x.weights[s] * x.shift[s]
        n_summed += x.weights[s]
    products(x, total, n_summed, sum_shift, product)
    clear(x, total)
    square = 0.0
    for s in range(x.row.size):
        square += x.weights[s] * product[s]
    if square <= CANCELLED * reach * reach:
        for s in range(x.row.size):
            product[s] = 0
        return 0.0
    length = np.sqrt(square)
    for s in range(x.row.size):
        product[s] /= length
    return length


@inner
def start_somewhere(x: Places, label: int, total: Floats, product: Floats) -> int:
    """Start from one place, because the sum of all cancels; returns that place, or -1.

    It is a member of the first group that has features, by the label's number: labels that only
    ever occur together then start from different members.
    """
    for p in range(x.start.size - 1):
        filled = 0
        for s in range(x.start[p], x.start[p + 1]):
            filled += x.lengths[s] > 0
        if filled == 0:
            continue
        skip = label % filled
        for s in range(x.start[p], x.start[p + 1]):
            if x.lengths[s] > 0:
                if skip == 0:
                    add_row(x.rows, x.row[s], np.float32(1), total)
                    products(x, total, 1.0, np.float64(x.shift[s]), product)
                    clear(x, total)
                    for other in range(x.row.size):
                        product[other] /= x.lengths[s]
                    return s
                skip -= 1
    return -1


@inner
def find_closest(x: Places, product: Floats, closest: Longs) -> int:
    """Find the closest place of each group by cosine (OUT closest); returns how many are new."""
    changed = 0
    for p in range(x.start.size - 1):
        best = -1
        best_cosine = np.float32(0)
        for s in range(x.start[p], x.start[p + 1]):
            cosine = product[s] / x.lengths[s] if x.lengths[s] > 0 else np.float32(0)
            if best < 0 or cosine > best_cosine + TIE:
                best = s
                best_cosine = cosine
        changed += closest[p] != best
        closest[p] = best
    return changed


@inner
def sum_closest(x: Places, closest: Longs, total: Floats, toward: Floats) -> float:
    """Products of all places with the sum of the closest ones (OUT toward); that sum's length."""
    reach = 0.0
    sum_shift = 0.0
    n_summed = 0.0
    for s in closest:
        if s >= 0:
            add_row(x.rows, x.row[s], x.weights[s], total)
            reach += x.weights[s] * x.lengths[s]
            sum_shift += x.weights[s] * x.shift[s]
            n_summed += x.weights[s]
    products(x, total, n_summed, sum_shift, toward)
    clear(x, total)
    square = 0.0
    for s in closest:
        if s >= 0:
            square += x.weights[s] * toward[s]
    return np.sqrt(square) if square > CANCELLED * reach * reach else 0.0


@inner
def one_step(
    x: Places, closest: Longs, toward: Floats, length: float, step: float, product: Floats,
    coefficient: Floats,
) -> bool:  # fmt: skip
    """Proj(e + step * Proj(gradient)) in terms of products and coefficients; False if it is 0."""
    cosine = 0.0
    for s in closest:
        if s >= 0:
            cosine += x.weights[s] * product[s]
    square = 1 + 2 * step * cosine / length + step * step
    if square <= CANCELLED:
        return False
    norm = np.float32(np.sqrt(square))
    factor = np.float32(step / length)
    for s in range(product.size):
        product[s] = (product[s] + factor * toward[s]) / norm
    if coefficient.size > 0:
        for s in range(product.size):
            coefficient[s] /= norm
        for s in closest:
            if s >= 0:
                coefficient[s] += x.weights[s] * factor / norm
    return True


@inner
def learn_label(
    x: Places, label: int, n_steps: int, step: float, total: Floats, toward: Floats, closest: Longs,
    product: Floats, coefficient: Floats,
) -> None:  # fmt: skip
    """Algorithm 1 for one label (OUT product, coefficient); `total` is the sum of its places."""
    length = start_from_all(x, total, product)
    if coefficient.size > 0:
        for s in range(product.size):
            coefficient[s] = x.weights[s] / length if length > 0 else 0.0
    if length == 0 and n_steps > 0:
        s = start_somewhere(x, label, total, product)
        if s < 0:
            return
        if coefficient.size > 0:
            coefficient[s] = 1 / x.lengths[s]
    for p in range(closest.size):
        closest[p] = -2
    gradient = 0.0
    for _ in range(n_steps):
        if find_closest(x, product, closest) > 0:
            gradient = sum_closest(x, closest, total, toward)
        if gradient == 0:
            return
        if not one_step(x, closest, toward, gradient, step, product, coefficient):
            return


@njit(nogil=True, cache=True)
def learn_embeddings(
    x: ShiftedRows,  # IN
    group_indptr: Longs,  # IN (n_groups + 1,)
    members: Ints,  # IN: the instances of each group, ascending
    label_indptr: Longs,  # IN (n_labels + 1,): the groups of each label of this block
    label_groups: Ints,  # IN
    label_counts: Ints,  # IN, like label_groups: how often each of them lists the label
    first_label: int,  # IN: the id of the block's first label
    n_steps: int,  # IN
    step: float,  # IN
    total: Floats,  # TMP (n_features,): all 0, and 0 again afterwards
    local_of: UInts,  # TMP (n_features,): all 0, and 0 again afterwards
    cosine: Floats,  # OUT (n_places,): of each place and the label's embedding
    coefficient: Floats,  # OUT (n_places,): of each place's row in the embedding; or (0,)
) -> None:
    """Learn the embeddings of a block of labels."""
    at = 0
    for label in range(label_indptr.size - 1):
        groups = label_groups[label_indptr[label] : label_indptr[label + 1]]
        n = 0
        for g in groups:
            n += group_indptr[g + 1] - group_indptr[g]
        instance = np.empty(n, np.int32)
        start = np.empty(groups.size + 1, np.int64)
        list_places(group_indptr, members, groups, instance, start)
        lengths = np.empty(n, np.float32)
        shift = np.empty(n, np.float32)
        weights = np.empty(n, np.float32)
        for p in range(groups.size):
            for s in range(start[p], start[p + 1]):
                weights[s] = label_counts[label_indptr[label] + p]
        for s in range(n):
            lengths[s] = x.lengths[instance[s]]
            shift[s] = x.shift[instance[s]]
        toward = np.empty(n, np.float32)
        closest = np.empty(groups.size, np.int64)
        product = cosine[at : at + n]
        weight = coefficient[at : at + n]
        if n_stored(x.rows, instance) <= GATHERED:
            rows, row, n_features = gather_rows(x.rows, instance, weights, local_of, total)
            places = Places(rows, row, n_features, weights, lengths, shift, x.shift_square, start)
            learn_label(
                places, first_label + label, n_steps, step, total, toward, closest, product, weight
            )
        else:
            for s in range(n):
                add_row(x.rows, instance[s], weights[s], total)
            places = Places(
                x.rows, instance, total.size, weights, lengths, shift, x.shift_square, start
            )
            learn_label(
                places, first_label + label, n_steps, step, total, toward, closest, product, weight
            )
        for s in range(n):
            product[s] = product[s] / lengths[s] if lengths[s] > 0 else np.float32(0)
        at += n
