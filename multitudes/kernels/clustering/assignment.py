"""Labels to clusters: which positives a matcher can reach, top counts, and an auction under a cap.

The auction solves a transportation problem: labels bid for places in clusters, a full cluster lets
its lowest bidder go, and its price is the lowest bid it holds. A label always bids for the clusters
whose count exceeds the price most, and raises the price only so far that its next best choice
becomes as good (plus `step`). At the end no label would gain more than `step` per copy by moving,
which bounds the distance from the optimum (Bertsekas and Castañon, "The auction algorithm for the
transportation problem", 1989; places in one cluster are their "similar objects").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitudes.kernels.arrays import Bools, Doubles, Floats, Ints, Longs
from multitudes.kernels.compiling import allocating, borrowing, kernel


@kernel
def count_reached(
    label_indptr: Longs,  # IN (n_instances + 1,): rows of Y
    labels: Ints,  # IN (nnz(Y),)
    match_indptr: Longs,  # IN (n_instances + 1,): rows of M
    matches: Ints,  # IN (nnz(M),)
    cluster_indptr: Longs,  # IN (n_labels + 1,): rows of C
    clusters: Ints,  # IN (nnz(C),)
    reached_by: Longs,  # TMP (n_clusters,): all -1
) -> tuple[int, int]:
    """Positives with at least one matched cluster, and pairs of a positive and a matched cluster.

    The first is Tr(Y^T Binary(M C^T)), the second Tr(Y^T M C^T), of 0/1 matrices.
    """
    n_positives, n_pairs = 0, 0
    for i in range(len(label_indptr) - 1):
        for j in range(match_indptr[i], match_indptr[i + 1]):
            reached_by[matches[j]] = i
        for j in range(label_indptr[i], label_indptr[i + 1]):
            label = labels[j]
            found = 0
            for p in range(cluster_indptr[label], cluster_indptr[label + 1]):
                if reached_by[clusters[p]] == i:
                    found += 1
            n_pairs += found
            if found > 0:
                n_positives += 1
    return n_positives, n_pairs


@allocating
def top_counts(
    indptr: Longs,  # IN (n_labels + 1,)
    counts: Floats,  # IN (nnz,): positive
    limits: Longs,  # IN (n_labels,): how many of each row, from 1 up
    keep: Bools,  # OUT (nnz,): the largest of each row, ties to the earlier
) -> None:
    """Mark the largest counts of each label."""
    most: Any = np.max(limits) if len(limits) else 1
    best = np.empty(max(1, most), np.int64)
    for label in range(len(indptr) - 1):
        overlap = limits[label]
        n_best = 0
        for edge in range(indptr[label], indptr[label + 1]):
            keep[edge] = False
            if n_best == overlap and counts[edge] <= counts[best[n_best - 1]]:
                continue
            at = n_best if n_best < overlap else overlap - 1
            while at > 0 and counts[edge] > counts[best[at - 1]]:
                best[at] = best[at - 1]
                at -= 1
            best[at] = edge
            n_best = min(n_best + 1, overlap)
        for at in range(n_best):
            keep[best[at]] = True


@borrowing
def _goes_first(bids: Doubles, labels: Ints, a: int, b: int) -> bool:
    """Return whether the holder at a must go before the one at b: ties, the larger id first."""
    return bids[a] < bids[b] or (bids[a] == bids[b] and labels[a] > labels[b])


@borrowing
def _swap(bids: Doubles, labels: Ints, edges: Longs, a: int, b: int) -> None:
    bids[a], bids[b] = bids[b], bids[a]
    labels[a], labels[b] = labels[b], labels[a]
    edges[a], edges[b] = edges[b], edges[a]


@borrowing
def _sift_up(bids: Doubles, labels: Ints, edges: Longs, start: int, at: int) -> None:
    """Restore the heap that begins at `start` after its last entry, `at`, was added."""
    while at > start:
        parent = start + (at - start - 1) // 2
        if not _goes_first(bids, labels, at, parent):
            return
        _swap(bids, labels, edges, at, parent)
        at = parent


@borrowing
def _sift_down(bids: Doubles, labels: Ints, edges: Longs, start: int, stop: int) -> None:
    """Restore the heap ``start:stop`` after its first entry was replaced."""
    at = start
    while True:
        child = start + 2 * (at - start) + 1
        if child >= stop:
            return
        if child + 1 < stop and _goes_first(bids, labels, child + 1, child):
            child += 1
        if not _goes_first(bids, labels, child, at):
            return
        _swap(bids, labels, edges, at, child)
        at = child


@borrowing
def _take_place(
    bids: Doubles, labels: Ints, edges: Longs, start: int, stop: int, size: int, bid: float,
    label: int, edge: int,
) -> None:  # fmt: skip
    """Put a bid into the heap of a cluster, in place of its lowest where it is full."""
    place = start if start + size == stop else start + size
    bids[place] = bid
    labels[place] = label
    edges[place] = edge
    if place == start:
        _sift_down(bids, labels, edges, start, start + max(size, 1))
    else:
        _sift_up(bids, labels, edges, start, place)


@borrowing
def _best_gains(
    indptr: Longs, clusters: Ints, counts: Ints, home: Ints, prices: Doubles, held: Bools,
    label: int, best: Longs, gains: Doubles,
) -> int:  # fmt: skip
    """Find the free clusters of a label with the largest count minus price; returns how many.

    The home comes last, as the edge ``nnz + label`` with count 0, unless the row has it already.
    """
    n_best, width = 0, len(best)
    start, stop = indptr[label], indptr[label + 1]
    at_home = False
    for edge in range(start, stop + 1):
        if edge < stop:
            at_home |= clusters[edge] == home[label]
            candidate, gain = edge, counts[edge] - prices[clusters[edge]]
        else:
            if at_home:
                break
            candidate, gain = len(clusters) + label, -prices[home[label]]
        if held[candidate] or (n_best == width and gain <= gains[width - 1]):
            continue
        at = min(n_best, width - 1)
        while at > 0 and gain > gains[at - 1]:
            best[at] = best[at - 1]
            gains[at] = gains[at - 1]
            at -= 1
        best[at] = candidate
        gains[at] = gain
        n_best = min(n_best + 1, width)
    return n_best


@borrowing
def _chosen(gains: Doubles, n_best: int, n_wanted: int, must: bool) -> tuple[int, float]:
    """Return how many of the best clusters a label bids for, and its gain without one of them."""
    n_bids = 1 if must else 0
    while n_bids < min(n_wanted, n_best) and gains[n_bids] > 0:
        n_bids += 1
    instead = gains[n_bids] if n_bids < n_best else -np.inf
    if not (must and n_bids == 1):
        instead = max(instead, 0.0)  # going without is possible
    return n_bids, instead


@borrowing
def _home_edge(indptr: Longs, clusters: Ints, home: Ints, label: int) -> int:
    """Return the edge that leads a label home."""
    for edge in range(indptr[label], indptr[label + 1]):
        if clusters[edge] == home[label]:
            return edge
    return len(clusters) + label


@allocating
def auction(
    indptr: Longs,  # IN (n_labels + 1,)
    clusters: Ints,  # IN (nnz,): ascending within a row
    counts: Floats,  # IN (nnz,): positive
    home: Ints,  # IN (n_labels,): a cluster; no more labels share one than it has places
    limits: Longs,  # IN (n_labels,): copies of each label at most, from 1 up
    offsets: Longs,  # IN (n_clusters + 1,): the places of each cluster, one or more where wanted
    order: Ints,  # IN (n_labels,): who bids first
    step: float,  # IN  float64 > 0: smallest rise of a bid
    patience: int,  # IN  turns after which the step doubles, each time
    max_turns: int,  # IN  turns after which labels without a place go home
    held: Bools,  # OUT (nnz + n_labels,): the places won; nnz + i: label i at home without a count
) -> int:
    """Place every label at least once and at most `limits` times, for large summed counts.

    Returns the number of turns: how often a label was asked to bid. Labels that outbid each other
    by small steps are what takes long, hence the doubling.
    """
    n_labels = len(indptr) - 1
    bids = np.empty(offsets[-1], np.float64)
    labels = np.empty(offsets[-1], np.int32)
    edges = np.empty(offsets[-1], np.int64)
    sizes = np.zeros(len(offsets) - 1, np.int64)
    prices = np.zeros(len(offsets) - 1, np.float64)
    n_held = np.zeros(n_labels, np.int64)
    most = np.max(limits) if n_labels > 0 else 1
    best = np.empty(most + 1, np.int64)
    gains = np.empty(most + 1, np.float64)
    queue = order.copy()  # a ring, in which a label waits at most once
    waits = np.ones(n_labels, np.bool_)
    first, n_waiting, n_turns = 0, n_labels, 0
    held[:] = False
    while n_waiting > 0:
        label = queue[first]
        first = (first + 1) % n_labels
        n_waiting -= 1
        waits[label] = False
        n_turns += 1
        if n_turns % patience == 0:
            step *= 2.0
        must = n_held[label] == 0
        last_call = n_turns > max_turns
        if last_call:
            # Bids at home that nobody can beat end the auction: everyone has a place there.
            best[0] = _home_edge(indptr, clusters, home, label)
            n_bids = 1 if must else 0
            instead = -np.inf
        else:
            wanted = limits[label] - n_held[label]
            n_best = _best_gains(
                indptr, clusters, counts, home, prices, held, label, best[: wanted + 1], gains
            )
            n_bids, instead = _chosen(gains, n_best, wanted, must)
        for at in range(n_bids):
            edge = best[at]
            cluster = clusters[edge] if edge < len(clusters) else home[label]
            start, stop = offsets[cluster], offsets[cluster + 1]
            if start + sizes[cluster] == stop:
                loser = labels[start]
                held[edges[start]] = False
                n_held[loser] -= 1
                if not waits[loser]:
                    waits[loser] = True
                    queue[(first + n_waiting) % n_labels] = loser
                    n_waiting += 1
                size = stop - start
            else:
                size = sizes[cluster]
                sizes[cluster] += 1
            bid = np.inf if last_call else prices[cluster] + (gains[at] - instead) + step
            _take_place(bids, labels, edges, start, stop, size, bid, label, edge)
            held[edge] = True
            n_held[label] += 1
            if start + sizes[cluster] == stop:
                prices[cluster] = bids[start]
    return n_turns
