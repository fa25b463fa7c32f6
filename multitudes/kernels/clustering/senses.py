"""The senses of labels: which instances use a label in which leaf, and what is typical of them.

Kernels go through the leaves and their slots, or through the labels and theirs. Sums of instances
are made in a dense array and cleared again, so that memory stays at one value per feature.
"""

from __future__ import annotations

import numpy as np

from multitudes.kernels.arrays import Doubles, Floats, Ints, Longs, UInts
from multitudes.kernels.compiling import allocating, borrowing, inlined, kernel, prefetch

AHEAD = 4  # rows between asking for one and reading it
NOTHING_LEFT = 1e-10  # of a squared length: what rounding leaves where nothing should be


@inlined
def _fetch_row(indptr: Longs, indices: Ints, values: Floats, rows: Ints, at: int) -> None:
    """Start loading the row of X that will be read some rows later: they lie anywhere."""
    if at + AHEAD < len(rows):
        first = indptr[rows[at + AHEAD]]
        prefetch(indices, first)
        prefetch(values, first)


@inlined
def _add_row(
    indptr: Longs, indices: Ints, values: Floats, i: int, factor: float, total: Doubles
) -> None:
    """Add a row of X, times a factor, to a total.

    Places are unsigned, here and below, because numba would ask of others whether they count from
    the end.
    """
    for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        total[np.uint32(indices[k])] += factor * values[k]


@inlined
def _product(indptr: Longs, indices: Ints, values: Floats, i: int, total: Doubles) -> float:
    """Return the dot product of a row of X and a total."""
    product = 0.0
    for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        product += values[k] * total[np.uint32(indices[k])]
    return product


@inlined
def _clear_row(indptr: Longs, indices: Ints, i: int, total: Doubles) -> float:
    """Set a total to exactly 0 where a row was added; returns the squares that were there."""
    square = 0.0
    for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        feature = np.uint32(indices[k])
        square += total[feature] * total[feature]
        total[feature] = 0
    return square


@kernel
def own_similarities(
    indptr: Longs,  # IN  (n_instances + 1,): rows of X
    indices: Ints,  # IN  (nnz,)
    values: Floats,  # IN  (nnz,)
    label_start: Longs,  # IN  (n_labels + 1,): the instances of each label
    instances: Ints,  # IN  (n_pairs,)
    total: Doubles,  # TMP (n_features,): all 0, before and after
    own: Doubles,  # OUT (n_pairs,): written from label_start[0] on
) -> None:
    """Dot product of a label's instances with all of them, summed."""
    for label in range(len(label_start) - 1):
        first, last = label_start[label], label_start[label + 1]
        for at in range(first, last):
            _fetch_row(indptr, indices, values, instances, at)
            _add_row(indptr, indices, values, instances[at], 1.0, total)
        for at in range(first, last):
            own[at] = _product(indptr, indices, values, instances[at], total)
        for at in range(first, last):
            _clear_row(indptr, indices, instances[at], total)


@kernel
def sense_similarities(
    indptr: Longs,  # IN  (n_instances + 1,): rows of X
    indices: Ints,  # IN  (nnz,)
    values: Floats,  # IN  (nnz,)
    label_start: Longs,  # IN  (n_labels + 1,): the instances of each label
    instances: Ints,  # IN  (n_pairs,)
    own: Doubles,  # IN  (n_pairs,): from `own_similarities`
    leaf_start: Longs,  # IN  (n_leaves + 1,): the slots of each leaf
    slot_labels: Ints,  # IN  (n_slots,)
    slot_start: Longs,  # IN  (n_slots + 1,): where the similarities of each slot go
    total: Doubles,  # TMP (n_features,): all 0, before and after
    times: Ints,  # TMP (n_instances,): all 0, before and after
    members: Ints,  # TMP (n_instances,)
    whole: Doubles,  # TMP (n_instances,)
    similarity: Floats,  # OUT (slot_start[-1],): in the order of the label's instances
) -> None:
    """Dot product of a label's instances with the leaf's other labels, summed, of length 1.

    That sum is the whole leaf's without the label's own, so each instance of a leaf is multiplied
    with the whole once, for all of its labels. A leaf without other labels resembles nothing: 0.
    """
    for leaf in range(len(leaf_start) - 1):
        labels = slot_labels[leaf_start[leaf] : leaf_start[leaf + 1]]
        n = 0
        for label in labels:
            for at in range(label_start[label], label_start[label + 1]):
                i = instances[at]
                if times[i] == 0:
                    members[n] = i
                    n += 1
                times[i] += 1
        for m in range(n):
            i = members[m]
            _fetch_row(indptr, indices, values, members[:n], m)
            _add_row(indptr, indices, values, i, float(times[i]), total)
        square = 0.0
        for m in range(n):
            i = members[m]
            _fetch_row(indptr, indices, values, members[:n], m)
            whole[i] = _product(indptr, indices, values, i, total)
            square += times[i] * whole[i]
        for place in range(len(labels)):
            first, last = label_start[labels[place]], label_start[labels[place] + 1]
            with_whole, with_own = 0.0, 0.0
            for at in range(first, last):
                with_whole += whole[instances[at]]
                with_own += own[at]
            others = square - 2 * with_whole + with_own
            scale = 1 / np.sqrt(others) if others > NOTHING_LEFT * square else 0.0
            to = slot_start[leaf_start[leaf] + place]
            for at in range(first, last):
                similarity[to + at - first] = (whole[instances[at]] - own[at]) * scale
        for m in range(n):
            times[members[m]] = 0
            _clear_row(indptr, indices, members[m], total)


@borrowing
def _insert(value: np.float32, item: int, values: Floats, items: Ints) -> None:
    """Put an item among the best, which fall; after equal ones."""
    at = len(values)
    while at > 0 and value > values[at - 1]:
        if at < len(values):
            values[at], items[at] = values[at - 1], items[at - 1]
        at -= 1
    if at < len(values):
        values[at], items[at] = value, item


@allocating
def telling_features(
    indptr: Longs,  # IN  (n_instances + 1,): rows of X
    indices: Ints,  # IN
    values: Floats,  # IN
    use_start: Longs,  # IN  (n_children + 1,): the instances of each slot of one leaf
    users: Ints,  # IN
    row_feature: Ints,  # IN  (n_rows,): the leaf's weights, ascending by feature
    row_entry: Longs,  # IN  (n_rows + 1,)
    entry_child: UInts,  # IN  (n_entries,): the slot, counted within the leaf
    entry_value: Floats,  # IN  (n_entries,)
    total: Doubles,  # TMP (n_features,): all 0, before and after
    features: Ints,  # OUT (n_children, n_kept): -1 where there are fewer
    carried: Floats,  # OUT (n_children, n_kept): > 0 and falling; 0 beside each -1
) -> None:
    """The features with the largest weight times value in the summed instances, of length 1.

    Ties go to the smaller feature id.
    """
    n_children = len(use_start) - 1
    start = np.zeros(n_children + 1, np.int64)
    for child in entry_child:
        start[child + 1] += 1
    start = np.cumsum(start)
    place = start.copy()
    feature_of = np.empty(len(entry_child), np.int32)
    weight_of = np.empty(len(entry_child), np.float32)
    for row in range(len(row_feature)):
        for entry in range(row_entry[row], row_entry[row + 1]):
            child = entry_child[entry]
            feature_of[place[child]], weight_of[place[child]] = row_feature[row], entry_value[entry]
            place[child] += 1
    for child in range(n_children):
        features[child], carried[child] = -1, 0
        members = users[use_start[child] : use_start[child + 1]]
        for at in range(len(members)):
            _fetch_row(indptr, indices, values, members, at)
            _add_row(indptr, indices, values, members[at], 1.0, total)
        for k in range(start[child], start[child + 1]):
            value = np.float32(weight_of[k] * total[np.uint32(feature_of[k])])
            _insert(value, feature_of[k], carried[child], features[child])
        square = 0.0
        for i in members:
            square += _clear_row(indptr, indices, i, total)
        scale = 1 / np.sqrt(square) if square > 0 else 0.0
        for kept in range(carried.shape[1]):
            carried[child, kept] *= scale


@allocating
def shared_labels(
    indptr: Longs,  # IN  (n_instances + 1,): rows of Y
    labels: Ints,  # IN
    sizes: Longs,  # IN  (n_labels,): instances of each label
    leaf_start: Longs,  # IN  (n_leaves + 1,): the slots of each leaf
    slot_labels: Ints,  # IN  (n_slots,)
    use_start: Longs,  # IN  (n_slots + 1,): the instances of each slot
    users: Ints,  # IN
    counts: Ints,  # TMP (n_labels,): all 0, before and after
    nearest: Ints,  # OUT (n_slots, n_kept): -1 where there are fewer
) -> None:
    """Other labels of the leaf, by shared instances over the root of all that they have.

    Ties go to the smaller label id; labels without a shared instance are left out.
    """
    best = np.empty(nearest.shape[1], np.float32)
    for leaf in range(len(leaf_start) - 1):
        first, last = leaf_start[leaf], leaf_start[leaf + 1]
        for slot in range(first, last):
            members = users[use_start[slot] : use_start[slot + 1]]
            for i in members:
                for k in range(indptr[i], indptr[i + 1]):
                    counts[labels[k]] += 1
            nearest[slot], best[:] = -1, 0
            for label in slot_labels[first:last]:
                if counts[label] > 0 and label != slot_labels[slot]:
                    value = np.float32(counts[label] / np.sqrt(sizes[label]))
                    _insert(value, label, best, nearest[slot])
            for i in members:
                for k in range(indptr[i], indptr[i + 1]):
                    counts[labels[k]] = 0


@kernel
def sense_silhouettes(
    indptr: Longs,  # IN  (n_instances + 1,): rows of X
    indices: Ints,  # IN  (nnz,)
    values: Floats,  # IN  (nnz,)
    scale: Floats,  # IN  (n_instances,): 1 over the length of each row, 0 for an empty one
    label_slot: Longs,  # IN  (n_labels + 1,): the slots of each label
    slots: Longs,  # IN  (n_slots,)
    use_start: Longs,  # IN  (n_slots + 1,): the instances of each slot
    users: Ints,  # IN
    total: Doubles,  # TMP (n_features,): all 0, before and after
    own: Doubles,  # TMP (most instances of a label,): mean cosine with others of the same slot
    other: Doubles,  # TMP (as many,): with those of the label's nearest other slot
    mean: Floats,  # OUT (n_slots,): silhouette of the slot's instances; 0 without a second sense
) -> None:
    """Mean silhouette of the instances of each slot among those of the label's other slots.

    An instance that is alone in its slot has the silhouette 0.
    """
    for label in range(len(label_slot) - 1):
        mine = slots[label_slot[label] : label_slot[label + 1]]
        n_used, n_users = 0, 0
        for slot in mine:
            mean[slot] = 0
            n_used += use_start[slot + 1] > use_start[slot]
            n_users += use_start[slot + 1] - use_start[slot]
        if n_used < 2:
            continue
        for at in range(n_users):
            other[at] = -1
        for slot in mine:
            members = users[use_start[slot] : use_start[slot + 1]]
            n = len(members)
            if n == 0:
                continue
            for i in members:
                _add_row(indptr, indices, values, i, scale[i], total)
            at = 0
            for at_slot in mine:
                for i in users[use_start[at_slot] : use_start[at_slot + 1]]:
                    product = _product(indptr, indices, values, i, total) * scale[i]
                    if at_slot != slot:
                        other[at] = max(other[at], product / n)
                    elif n > 1:
                        itself = 1.0 if scale[i] > 0 else 0.0
                        own[at] = (product - itself) / (n - 1)
                    at += 1
            for i in members:
                _clear_row(indptr, indices, i, total)
        at = 0
        for slot in mine:
            n = use_start[slot + 1] - use_start[slot]
            summed = 0.0
            for _ in range(n):
                largest = max(own[at], other[at])
                if n > 1 and largest > 0:
                    summed += (own[at] - other[at]) / largest
                at += 1
            if n > 0:
                mean[slot] = summed / n
