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

import numpy as np
from numba import njit

from multitudes.kernels.compiling import inner
from multitudes.kernels.group_assignment import TIE
from multitudes.kernels.rows import add_row, clear_row, dot_row

# A sum of rows is zero where its squared length is at most this part of what it could have been.
CANCELLED = 1e-10


@inner
def list_places(group_indptr, members, groups, instance, start):
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
def products(x, instance, n, total, n_summed, sum_shift, out):
    """Multiply the row of each place with total, both without the mean row (OUT out).

    `total` is a sum of `n_summed` rows whose shifts add up to `sum_shift`.
    """
    constant = n_summed * x.shift_square - sum_shift
    for s in range(n):
        i = instance[s]
        out[s] = dot_row(x.rows, i, total) + (constant - n_summed * x.shift[i])


@inner
def sum_all(x, instance, n, total, product):
    """Products of all places with the unit sum of all places; returns the sum's length, or 0."""
    reach = 0.0
    sum_shift = 0.0
    for s in range(n):
        add_row(x.rows, instance[s], total)
        reach += x.lengths[instance[s]]
        sum_shift += x.shift[instance[s]]
    products(x, instance, n, total, n, sum_shift, product)
    square = 0.0
    for s in range(n):
        clear_row(x.rows, instance[s], total)
        square += product[s]
    if square <= CANCELLED * reach * reach:
        for s in range(n):
            product[s] = 0
        return 0.0
    length = np.sqrt(square)
    for s in range(n):
        product[s] /= length
    return length


@inner
def start_somewhere(x, label, start, instance, n, total, product):
    """Where the sum of all places cancels: start from one of them; returns its place, or -1.

    It is a member of the first group that has features, by the label's number: labels that only
    ever occur together then start from different members.
    """
    for p in range(start.size - 1):
        filled = 0
        for s in range(start[p], start[p + 1]):
            filled += x.lengths[instance[s]] > 0
        if filled == 0:
            continue
        skip = label % filled
        for s in range(start[p], start[p + 1]):
            if x.lengths[instance[s]] > 0:
                if skip == 0:
                    add_row(x.rows, instance[s], total)
                    sum_shift = np.float64(x.shift[instance[s]])
                    products(x, instance, n, total, 1, sum_shift, product)
                    clear_row(x.rows, instance[s], total)
                    for other in range(n):
                        product[other] /= x.lengths[instance[s]]
                    return s
                skip -= 1
    return -1


@inner
def find_closest(x, start, n_groups, instance, product, closest):
    """The place of each group that is closest by cosine (OUT closest); how many are new."""
    changed = 0
    for p in range(n_groups):
        best = -1
        best_cosine = np.float32(0)
        for s in range(start[p], start[p + 1]):
            length = x.lengths[instance[s]]
            cosine = product[s] / length if length > 0 else np.float32(0)
            if best < 0 or cosine > best_cosine + TIE:
                best = s
                best_cosine = cosine
        changed += closest[p] != best
        closest[p] = best
    return changed


@inner
def sum_closest(x, n_groups, instance, n, closest, total, toward):
    """Products of all places with the sum of the closest ones (OUT toward); that sum's length."""
    reach = 0.0
    sum_shift = 0.0
    n_summed = 0
    for p in range(n_groups):
        if closest[p] >= 0:
            i = instance[closest[p]]
            add_row(x.rows, i, total)
            reach += x.lengths[i]
            sum_shift += x.shift[i]
            n_summed += 1
    products(x, instance, n, total, n_summed, sum_shift, toward)
    square = 0.0
    for p in range(n_groups):
        if closest[p] >= 0:
            clear_row(x.rows, instance[closest[p]], total)
            square += toward[closest[p]]
    return np.sqrt(square) if square > CANCELLED * reach * reach else 0.0


@inner
def one_step(n_groups, n, closest, toward, length, step, product, coefficient):
    """Proj(e + step * Proj(gradient)) in terms of products and coefficients; False if it is 0."""
    cosine = 0.0
    for p in range(n_groups):
        if closest[p] >= 0:
            cosine += product[closest[p]]
    square = 1 + 2 * step * cosine / length + step * step
    if square <= CANCELLED:
        return False
    norm = np.float32(np.sqrt(square))
    factor = np.float32(step / length)
    for s in range(n):
        product[s] = (product[s] + factor * toward[s]) / norm
    if coefficient.size > 0:
        for s in range(n):
            coefficient[s] /= norm
        for p in range(n_groups):
            if closest[p] >= 0:
                coefficient[closest[p]] += factor / norm
    return True


@inner
def learn_label(
    x, label, n_groups, start, instance, n, n_steps, step, total, toward, closest,
    product, coefficient,
):  # fmt: skip
    """Algorithm 1 for one label (OUT product, coefficient)."""
    length = sum_all(x, instance, n, total, product)
    if coefficient.size > 0:
        for s in range(n):
            coefficient[s] = 1 / length if length > 0 else 0.0
    if length == 0 and n_steps > 0:
        s = start_somewhere(x, label, start, instance, n, total, product)
        if s < 0:
            return
        if coefficient.size > 0:
            coefficient[s] = 1 / x.lengths[instance[s]]
    for p in range(n_groups):
        closest[p] = -2
    gradient = 0.0
    for _ in range(n_steps):
        if find_closest(x, start, n_groups, instance, product, closest) > 0:
            gradient = sum_closest(x, n_groups, instance, n, closest, total, toward)
        if gradient == 0 or not one_step(
            n_groups, n, closest, toward, gradient, step, product, coefficient
        ):
            return


@njit(nogil=True, cache=True)
def learn_embeddings(
    x,  # IN ShiftedRows
    group_indptr,  # IN int64 (n_groups + 1,)
    members,  # IN int32: the instances of each group, ascending
    label_indptr,  # IN int64 (n_labels + 1,): the groups of each label of this block
    label_groups,  # IN int32
    first_label,  # IN: the id of the block's first label
    n_steps,  # IN
    step,  # IN
    total,  # TMP float32 (n_features,): all 0, and 0 again afterwards
    cosine,  # OUT float32 (n_places,): of each place and the label's embedding
    coefficient,  # OUT float32 (n_places,): of each place's row in the embedding; or (0,)
):
    """Learn the embeddings of a block of labels."""
    most_groups = 0
    most_places = 0
    for label in range(label_indptr.size - 1):
        n = 0
        for p in range(label_indptr[label], label_indptr[label + 1]):
            n += group_indptr[label_groups[p] + 1] - group_indptr[label_groups[p]]
        most_places = max(most_places, n)
        most_groups = max(most_groups, label_indptr[label + 1] - label_indptr[label])
    start = np.empty(most_groups + 1, np.int64)
    closest = np.empty(most_groups, np.int64)
    instance = np.empty(most_places, np.int32)
    toward = np.empty(most_places, np.float32)
    at = 0
    for label in range(label_indptr.size - 1):
        groups = label_groups[label_indptr[label] : label_indptr[label + 1]]
        n = list_places(group_indptr, members, groups, instance, start)
        product = cosine[at : at + n]
        learn_label(
            x, first_label + label, groups.size, start[: groups.size + 1], instance, n,
            n_steps, step, total, toward, closest, product, coefficient[at : at + n],
        )  # fmt: skip
        for s in range(n):
            length = x.lengths[instance[s]]
            product[s] = product[s] / length if length > 0 else np.float32(0)
        at += n
