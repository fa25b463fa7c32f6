"""The senses of labels: which instances use a label in which leaf, and what is typical of them.

Kernels go through the leaves and their slots, or through the labels and theirs. Sums of instances
are made in a dense array and taken back again, so that memory stays at one value per feature.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Doubles, Floats, Ints, Longs, UInts

NOTHING_LEFT = 1e-10  # of a squared length: what rounding leaves where nothing should be


@njit(cache=True, nogil=True)
def _add_rows(
    indptr: Longs,  # IN  (n_instances + 1,): rows of X
    indices: Ints,  # IN
    values: Floats,  # IN
    instances: Ints,  # IN  (n,): the rows to add
    factor: float,  # IN  1 to add, -1 to take back
    total: Doubles,  # IN/OUT (n_features,)
) -> float:
    """Add rows to a total; returns by how much its squared length grew."""
    growth = 0.0
    for i in instances:
        for k in range(indptr[i], indptr[i + 1]):
            old = total[indices[k]]
            new = old + factor * values[k]
            total[indices[k]] = new
            growth += new * new - old * old
    return growth


@njit(cache=True, nogil=True)
def _clear_rows(indptr: Longs, indices: Ints, instances: Ints, total: Doubles) -> None:
    """Set a total to exactly 0 where rows were added to it."""
    for i in instances:
        for k in range(indptr[i], indptr[i + 1]):
            total[indices[k]] = 0


@njit(cache=True, nogil=True)
def sense_similarities(
    indptr: Longs,  # IN  (n_instances + 1,): rows of X
    indices: Ints,  # IN  (nnz,)
    values: Floats,  # IN  (nnz,)
    label_start: Longs,  # IN  (n_labels + 1,): the instances of each label
    instances: Ints,  # IN  (n_pairs,)
    leaf_start: Longs,  # IN  (n_leaves + 1,): the slots of each leaf
    slot_labels: Ints,  # IN  (n_slots,)
    slot_start: Longs,  # IN  (n_slots + 1,): where the similarities of each slot go
    total: Doubles,  # TMP (n_features,): all 0, before and after
    similarity: Floats,  # OUT (slot_start[-1],): in the order of the label's instances
) -> None:
    """Dot product of a label's instances with the leaf's other labels, summed, of length 1.

    A leaf without other labels resembles nothing: 0.
    """
    for leaf in range(len(leaf_start) - 1):
        labels = slot_labels[leaf_start[leaf] : leaf_start[leaf + 1]]
        square = 0.0
        for label in labels:
            members = instances[label_start[label] : label_start[label + 1]]
            square += _add_rows(indptr, indices, values, members, 1.0, total)
        for place in range(len(labels)):
            members = instances[label_start[labels[place]] : label_start[labels[place] + 1]]
            others = square + _add_rows(indptr, indices, values, members, -1.0, total)
            scale = 1 / np.sqrt(others) if others > NOTHING_LEFT * square else 0.0
            at = slot_start[leaf_start[leaf] + place]
            for i in members:
                product = 0.0
                for k in range(indptr[i], indptr[i + 1]):
                    product += values[k] * total[indices[k]]
                similarity[at] = product * scale
                at += 1
            _add_rows(indptr, indices, values, members, 1.0, total)
        for label in labels:
            members = instances[label_start[label] : label_start[label + 1]]
            _clear_rows(indptr, indices, members, total)


@njit(cache=True, nogil=True)
def _insert(value: np.float32, item: int, values: Floats, items: Ints) -> None:
    """Put an item among the best, which fall; after equal ones."""
    at = len(values)
    while at > 0 and value > values[at - 1]:
        if at < len(values):
            values[at], items[at] = values[at - 1], items[at - 1]
        at -= 1
    if at < len(values):
        values[at], items[at] = value, item


@njit(cache=True, nogil=True)
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
    feature_of, weight_of = np.empty(len(entry_child), np.int32), np.empty(len(entry_child))
    for row in range(len(row_feature)):
        for entry in range(row_entry[row], row_entry[row + 1]):
            child = entry_child[entry]
            feature_of[place[child]], weight_of[place[child]] = row_feature[row], entry_value[entry]
            place[child] += 1
    for child in range(n_children):
        features[child], carried[child] = -1, 0
        members = users[use_start[child] : use_start[child + 1]]
        square = _add_rows(indptr, indices, values, members, 1.0, total)
        scale = 1 / np.sqrt(square) if square > 0 else 0.0
        for k in range(start[child], start[child + 1]):
            value = np.float32(weight_of[k] * total[feature_of[k]] * scale)
            _insert(value, feature_of[k], carried[child], features[child])
        _clear_rows(indptr, indices, members, total)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
                for k in range(indptr[i], indptr[i + 1]):
                    total[indices[k]] += values[k] * scale[i]
            at = 0
            for at_slot in mine:
                for i in users[use_start[at_slot] : use_start[at_slot + 1]]:
                    product = 0.0
                    for k in range(indptr[i], indptr[i + 1]):
                        product += values[k] * total[indices[k]]
                    product *= scale[i]
                    if at_slot != slot:
                        other[at] = max(other[at], product / n)
                    elif n > 1:
                        itself = 1.0 if scale[i] > 0 else 0.0
                        own[at] = (product - itself) / (n - 1)
                    at += 1
            _clear_rows(indptr, indices, members, total)
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
