"""Sparse 0/1 patterns, without the values: rows are instances, columns labels or clusters."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def spread_to_slots(
    indptr,  # IN int64 (n_rows + 1,)
    indices,  # IN int32: labels
    slot_start,  # IN int64 (n_labels + 1,)
    slots,  # IN int32: the slots of each label
    out_indptr,  # OUT int64 (n_rows + 1,)
):
    """Replace each label by its slots, in the order of the labels; returns the new indices."""
    out_indptr[0] = 0
    for i in range(indptr.size - 1):
        count = 0
        for t in range(indptr[i], indptr[i + 1]):
            count += slot_start[indices[t] + 1] - slot_start[indices[t]]
        out_indptr[i + 1] = out_indptr[i] + count
    out = np.empty(out_indptr[-1], np.int32)
    at = 0
    for i in range(indptr.size - 1):
        for t in range(indptr[i], indptr[i + 1]):
            for s in range(slot_start[indices[t]], slot_start[indices[t] + 1]):
                out[at] = slots[s]
                at += 1
    return out


@njit(nogil=True, cache=True)
def raise_to_parents(
    indptr,  # IN int64 (n_rows + 1,)
    indices,  # IN int32, ascending within a row: children
    parent,  # IN int32 (n_children,): ascending
    out_indptr,  # OUT int64 (n_rows + 1,)
):
    """Replace each child by its parent, once per row; returns the new indices."""
    out = np.empty(indices.size, np.int32)
    out_indptr[0] = 0
    at = 0
    for i in range(indptr.size - 1):
        begin = at
        for t in range(indptr[i], indptr[i + 1]):
            own = parent[indices[t]]
            if at == begin or out[at - 1] != own:
                out[at] = own
                at += 1
        out_indptr[i + 1] = at
    return out[:at].copy()


@njit(nogil=True, cache=True)
def transpose(
    indptr,  # IN int64 (n_rows + 1,)
    indices,  # IN int32
    n_columns,  # IN
    out_indptr,  # OUT int64 (n_columns + 1,)
):
    """The rows of each column, ascending; returns them as one array."""
    out_indptr[:] = 0
    for t in range(indices.size):
        out_indptr[indices[t] + 1] += 1
    for c in range(n_columns):
        out_indptr[c + 1] += out_indptr[c]
    out = np.empty(indices.size, np.int32)
    place = out_indptr.copy()
    for i in range(indptr.size - 1):
        for t in range(indptr[i], indptr[i + 1]):
            out[place[indices[t]]] = i
            place[indices[t]] += 1
    return out


@njit(nogil=True, cache=True)
def merge_rows(
    a_indptr,  # IN int64 (n_rows + 1,)
    a_indices,  # IN int32, ascending within a row
    b_indptr,  # IN int64 (n_rows + 1,)
    b_indices,  # IN int32, ascending within a row
    out_indptr,  # OUT int64 (n_rows + 1,)
):
    """The union of two patterns, row by row; returns the new indices."""
    out = np.empty(a_indices.size + b_indices.size, np.int32)
    out_indptr[0] = 0
    at = 0
    for i in range(a_indptr.size - 1):
        s = a_indptr[i]
        t = b_indptr[i]
        while s < a_indptr[i + 1] or t < b_indptr[i + 1]:
            if t == b_indptr[i + 1] or (s < a_indptr[i + 1] and a_indices[s] <= b_indices[t]):
                value = a_indices[s]
                t += t < b_indptr[i + 1] and b_indices[t] == value
                s += 1
            else:
                value = b_indices[t]
                t += 1
            out[at] = value
            at += 1
        out_indptr[i + 1] = at
    return out[:at].copy()
