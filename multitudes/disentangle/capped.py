"""The assignment with a limit on cluster sizes (Appendix A.4), as an auction of places."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.disentangle.inputs import rows_of
from multitudes.kernels.clustering.assignment import auction
from multitudes.types import FloatArray, IntArray, LabelArray

STEP = 0.1
"""Smallest rise of a bid, in units of the smallest count: smaller is nearer to the optimum."""

PATIENCE = 8
"""Turns to bid, on average over the labels, after which the step doubles."""

MIN_PATIENCE = 100_000
"""Fewer turns than this take no time worth saving."""

MAX_DOUBLINGS = 6
"""After as many, an auction is cut short. Only caps that leave next to no room come here."""


def assign_capped(
    counts: Any, current: Any, *, limits: IntArray, caps: IntArray
) -> sp.csr_array[Any]:
    """Return the assignment of `multitudes.disentangle.assign` under caps, of checked input."""
    counts = _where_room(counts, caps)
    home = homes(counts, current, caps)
    won = _auctioned(counts, home, limits, caps)
    n_labels = len(home)
    ones = np.ones(n_labels, np.float32)
    stayed = sp.csr_array((ones, home, np.arange(n_labels + 1)), shape=counts.shape)
    if counts.multiply(stayed).sum() > counts.multiply(won).sum():
        won = stayed  # an auction that was cut short
    return _with_old_copies(won, counts, current, limits, caps)


def _where_room(counts: Any, caps: IntArray) -> Any:
    """Leave out the counts in clusters without any place, for which nobody may bid."""
    if (caps > 0).all():
        return counts
    kept = sp.csr_array(counts.multiply((caps > 0).astype(np.float32)))
    kept.eliminate_zeros()
    kept.sort_indices()
    return kept


def _auctioned(
    counts: Any, home: LabelArray, limits: IntArray, caps: IntArray
) -> sp.csr_array[Any]:
    """Return the clusters that labels win, each at least one."""
    n_labels, n_clusters = counts.shape
    indptr, clusters = rows_of(counts)
    # A cluster never has more bidders than labels that count there or come from there.
    bidders = np.bincount(clusters, minlength=n_clusters) + np.bincount(home, minlength=n_clusters)
    offsets = np.concatenate([[0], np.cumsum(np.minimum(bidders, caps))])
    step = STEP * float(counts.data.min()) if counts.nnz else STEP
    patience = max(PATIENCE * n_labels, MIN_PATIENCE)
    order = _bidding_order(counts)
    held = np.empty(len(clusters) + n_labels, bool)
    auction(
        *(indptr, clusters, counts.data, home, limits, offsets, order),
        *(step, patience, MAX_DOUBLINGS * patience, held),
    )
    counted, at_home = held[: len(clusters)], np.flatnonzero(held[len(clusters) :])
    labels = np.repeat(np.arange(n_labels), np.diff(indptr))[counted]
    pairs = (
        np.concatenate([labels, at_home]),
        np.concatenate([clusters[counted], home[at_home]]),
    )
    won = sp.csr_array((np.ones(len(pairs[0]), np.float32), pairs), shape=counts.shape)
    won.sort_indices()
    return won


def homes(counts: Any, current: Any, caps: IntArray) -> LabelArray:
    """Return the cluster each label comes from, int32 (n_labels,); no more share one than its cap.

    Of several clusters it is the one with the largest count, ties to the smaller id. Where more
    labels than that come from a cluster, labels without counts stay before others and smaller ids
    before larger; the others move to the nearest clusters with room.
    """
    n_labels, n_clusters = counts.shape
    rows = np.repeat(np.arange(n_labels), np.diff(current.indptr))
    order = np.lexsort((current.indices, -_values_at(counts, rows, current.indices), rows))
    home: LabelArray = current.indices[order[current.indptr[:-1]]].astype(np.int32)
    sizes = np.bincount(home, minlength=n_clusters)
    ends = np.cumsum(sizes)
    members = np.lexsort((np.arange(n_labels), np.diff(counts.indptr) > 0, home))
    room = np.maximum(caps - sizes, 0)
    for cluster in np.flatnonzero(sizes > caps):
        leaving = members[ends[cluster] - sizes[cluster] + caps[cluster] : ends[cluster]]
        nearest = np.argsort(np.abs(np.arange(n_clusters) - cluster), kind="stable")
        filled = np.minimum(np.cumsum(room[nearest]), len(leaving))
        taken = np.diff(filled, prepend=0)
        home[leaving] = np.repeat(nearest, taken)
        room[nearest] -= taken
    return home


def _values_at(matrix: Any, rows: Any, columns: Any) -> FloatArray:
    """Return the values at (row, column) pairs; 0 if nothing is stored."""
    picked = matrix[rows, columns]  # an array or sparse, depending on scipy's version
    return np.asarray(picked.toarray() if hasattr(picked, "toarray") else picked).ravel()


def _bidding_order(counts: Any) -> LabelArray:
    """Labels with the largest counts first: they are seldom outbid, which saves turns."""
    n_labels = counts.shape[0]
    largest = np.zeros(n_labels, np.float32)
    filled = np.flatnonzero(np.diff(counts.indptr))
    if len(filled):
        largest[filled] = np.maximum.reduceat(counts.data, counts.indptr[filled])
    return np.argsort(-largest, kind="stable").astype(np.int32)


def _with_old_copies(
    won: sp.csr_array[Any], counts: Any, current: Any, limits: IntArray, caps: IntArray
) -> sp.csr_array[Any]:
    """Labels without counts keep their other clusters, too, in order of id while there is room."""
    several = (np.diff(counts.indptr) == 0) & (np.diff(current.indptr) > 1) & (limits > 1)
    if not several.any():
        return won
    room = caps - np.bincount(won.indices, minlength=won.shape[1])
    added: list[tuple[int, int]] = []
    for label in np.flatnonzero(several).tolist():
        free = limits[label] - 1
        own = won.indices[won.indptr[label]]
        for cluster in current.indices[current.indptr[label] : current.indptr[label + 1]].tolist():
            if free and cluster != own and room[cluster] > 0:
                added.append((label, cluster))
                room[cluster] -= 1
                free -= 1
    labels, clusters = np.array(added, np.int64).reshape(-1, 2).T
    kept = sp.csr_array((np.ones(len(labels), np.float32), (labels, clusters)), shape=won.shape)
    out: sp.csr_array[Any] = sp.csr_array(won + kept)
    out.sort_indices()
    return out
