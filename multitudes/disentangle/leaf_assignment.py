"""Where labels live: the clusters in which the matcher looks for them most often."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.disentangle.capped import assign_capped
from multitudes.disentangle.inputs import (
    checked_assignment,
    checked_counts,
    checked_pattern,
    rows_of,
)
from multitudes.errors import ConfigError, DataError
from multitudes.kernels.clustering.assignment import count_reached, top_counts
from multitudes.types import IntArray, Sparse
from multitudes.validation import checked_count

CLUSTER_SLACK = 1.2
"""How much larger than the average a cluster may grow where the library chooses the cap."""


def match_counts(Y: Any, matches: Any) -> sp.csr_array[Any]:
    """Count how many positives of each label the matcher leads to each cluster: Y^T M.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
        Labels; non-zero is 1.
    matches : CSR (n_instances, n_clusters)
        M of the paper: non-zero where the matcher leads an instance to a cluster.

    Returns
    -------
    csr_array (n_labels, n_clusters), float32
        Whole numbers, exact up to 2^24. A label without instances has an empty row.
    """
    Y = checked_pattern(Y, "Y", "(n_instances, n_labels)")
    matches = checked_pattern(matches, "matches", "(n_instances, n_clusters)")
    check_same_instances(Y, matches)
    counts: sp.csr_array[Any] = sp.csr_array(Y.T.tocsr() @ matches)
    counts.sort_indices()
    return counts


def ranked_counts(Y: Sparse, scores: Sparse) -> sp.csr_array[Any]:
    """Count a label's instances that reach each leaf (Eq. 10), with equal counts ranked by score.

    A rare label's instances reach the same leaves all alike; among them the matcher's scores tell
    likely from unlikely ones. They add less than one half, so that counts decide first.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
    scores : CSR (n_instances, n_leaves)
        The matcher's score of each leaf in an instance's beam.
    """
    reached = scores.copy()
    reached.data = np.ones_like(reached.data)
    counts = match_counts(Y, reached)
    total = sp.csr_array(sp.csr_array(Y).T @ scores)
    largest = max(float(counts.max()), 1.0) * max(float(scores.max()), 1.0)
    return sp.csr_array(counts + total * (0.49 / largest))


def assign(
    counts: Any,
    current: Any,
    *,
    overlap: int | npt.ArrayLike = 2,
    max_cluster_size: int | npt.ArrayLike | None = None,
) -> sp.csr_array[Any]:
    """Put each label into the clusters with its largest counts.

    Parameters
    ----------
    counts : CSR (n_labels, n_clusters)
        From `match_counts`; not negative.
    current : CSR (n_labels, n_clusters)
        The present assignment, e.g. ``tree.label_clusters(tree.depth - 1)``: non-zero where a label
        lives in a cluster. Each label lives somewhere.
    overlap : int or int array (n_labels,), from 1 to n_clusters
        Clusters of a label at most; lambda of the paper. An array has a number for each label.
    max_cluster_size : int or int array (n_clusters,), optional
        Labels of a cluster at most; an array has a number for each cluster. None is the paper's
        method, without a limit.

    Returns
    -------
    csr_array (n_labels, n_clusters), float32
        1 where a label lives in a cluster; what ``LabelTree.with_leaves`` takes. Each label has
        from one to `overlap` clusters.

    Notes
    -----
    Without a cap: the `overlap` largest positive counts of each label (Eq. 10), which maximize
    `linear_bound` (Theorem 2). Ties go to the smaller cluster id. A label without counts keeps its
    clusters, the first `overlap` of them.

    With a cap the summed counts are maximized under both limits, by an auction that comes within a
    small part of the optimum (`multitudes.kernels.clustering.assignment`). A label then lives where
    it has a count, or, alone, in the cluster it comes from. That guarantees a solution: with every
    label back where it comes from, no cluster is too large. Labels that a cluster larger than the
    cap has to give up come, for this purpose, from the nearest cluster (by id) with room. Labels
    without counts stay where they come from and never give way; further copies that they have stay
    as long as there is room. The summed counts are never less than with every label where it comes
    from; `tp_bound` may be, under a tight cap (Theorem 3 knows no cap). A cap that leaves no room
    at all, n_labels / n_clusters exactly, is the one hard case: there the auction may be cut short
    and end farther from the optimum.

    References
    ----------
    Liu et al., Label Disentanglement in Partition-based Extreme Multilabel Classification, 2021,
    section 4.2 and Appendix A.4.
    """
    counts = checked_counts(counts, "counts", "(n_labels, n_clusters)")
    n_labels, n_clusters = counts.shape
    current = checked_assignment(current, "current", n_labels=n_labels, n_clusters=n_clusters)
    limits = _limits(overlap, n_labels, n_clusters)
    if max_cluster_size is None:
        return _largest_counts(counts, current, limits)
    caps = checked_caps(max_cluster_size, n_labels, n_clusters)
    return assign_capped(counts, current, limits=limits, caps=caps)


def default_cluster_cap(n_labels: int, n_leaves: int, overlap: int) -> int:
    """Return a `max_cluster_size` of `CLUSTER_SLACK` times the average size at `overlap`.

    Examples
    --------
    >>> default_cluster_cap(40_623, 512, 2)
    239
    """
    n_labels = checked_count(n_labels, "n_labels")
    n_leaves = checked_count(n_leaves, "n_leaves")
    overlap = _checked_overlap(overlap, n_leaves)
    return math.ceil(CLUSTER_SLACK * overlap * n_labels / n_leaves)


def checked_caps(max_cluster_size: int | npt.ArrayLike, n_labels: int, n_clusters: int) -> IntArray:
    """Return the cap of each cluster, int64 (n_clusters,), or raise a ConfigError.

    Under the caps every label must find a place.
    """
    caps = np.asarray(max_cluster_size)
    if caps.ndim == 0:
        caps = np.full(n_clusters, checked_count(max_cluster_size, "max_cluster_size"))
    if caps.shape != (n_clusters,) or caps.dtype.kind not in "iu" or caps.min(initial=0) < 0:
        raise ConfigError(
            f"max_cluster_size must be a whole number, or one for each of the {n_clusters:,} "
            f"clusters, got shape {caps.shape} and dtype {caps.dtype}"
        )
    if caps.sum() < n_labels:
        each = f"={caps[0]}" if np.ndim(max_cluster_size) == 0 else ""
        raise ConfigError(
            f"max_cluster_size{each} leaves room for {caps.sum():,} labels in {n_clusters:,} "
            f"clusters, but there are {n_labels:,}: "
            f"raise it to {math.ceil(n_labels / n_clusters):,} or more"
        )
    return caps.astype(np.int64)


def _checked_overlap(overlap: Any, n_clusters: int) -> int:
    checked = checked_count(overlap, "overlap")
    if checked > n_clusters:
        raise ConfigError(
            f"overlap must be at most the number of clusters ({n_clusters:,}), got {checked}: "
            "lower overlap, or make a tree with more leaves"
        )
    return checked


def _limits(overlap: int | npt.ArrayLike, n_labels: int, n_clusters: int) -> IntArray:
    """Return the most clusters that each label may have, int64 (n_labels,)."""
    if np.ndim(overlap) == 0:
        return np.full(n_labels, _checked_overlap(overlap, n_clusters), np.int64)
    limits = np.asarray(overlap)
    if limits.shape != (n_labels,) or limits.dtype.kind not in "iu":
        raise ConfigError(
            f"overlap must be a whole number, or one for each of the {n_labels:,} labels, got "
            f"shape {limits.shape} and dtype {limits.dtype}"
        )
    for limit in (limits.min(initial=1), limits.max(initial=1)):
        _checked_overlap(int(limit), n_clusters)
    return limits.astype(np.int64)


def _largest_counts(counts: Any, current: Any, limits: IntArray) -> sp.csr_array[Any]:
    """Keep the largest entries of each row (Eq. 10)."""
    # Rows without counts take those of the present assignment: all ones, so the first are kept.
    uncounted = np.diff(counts.indptr) == 0
    kept = sp.diags_array(uncounted.astype(np.float32)) @ current
    values: sp.csr_array[Any] = sp.csr_array(counts + kept)
    values.sort_indices()
    indptr, indices = rows_of(values)
    keep = np.empty(len(indices), bool)
    top_counts(indptr, values.data.astype(np.float32, copy=False), limits, keep)
    sizes = np.concatenate([[0], np.cumsum(keep)])
    data = np.ones(int(sizes[-1]), np.float32)
    return sp.csr_array((data, indices[keep], sizes[indptr]), shape=counts.shape)


def tp_bound(Y: Any, matches: Any, assignment: Any) -> int:
    """Count the true positives that a perfect ranker could find: Tr(Y^T Binary(M C^T)).

    It counts the positives with at least one cluster among those the matcher leads their instance
    to, and bounds the true positives of any top k from above.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
        Labels; non-zero is 1.
    matches : CSR (n_instances, n_clusters)
        M of the paper: non-zero where the matcher leads an instance to a cluster (Eq. 5).
    assignment : CSR (n_labels, n_clusters)
        C of the paper: non-zero where a label lives in a cluster. A label without any is never
        reached.

    References
    ----------
    Liu et al., Label Disentanglement in Partition-based Extreme Multilabel Classification, 2021,
    Eq. 6 and 7.
    """
    return _reached(Y, matches, assignment)[0]


def linear_bound(Y: Any, matches: Any, assignment: Any) -> int:
    """The linear stand-in for `tp_bound` that `assign` maximizes: Tr(Y^T M C^T), Eq. 9.

    A positive counts once for each of its clusters that is reached, so this is at least `tp_bound`,
    and equal to it where no label has two clusters. Parameters as there.
    """
    return _reached(Y, matches, assignment)[1]


def _reached(Y: Any, matches: Any, assignment: Any) -> tuple[int, int]:
    """Return both bounds, without ever making (n_instances, n_labels) candidates."""
    Y = checked_pattern(Y, "Y", "(n_instances, n_labels)")
    matches = checked_pattern(matches, "matches", "(n_instances, n_clusters)")
    assignment = checked_pattern(assignment, "assignment", "(n_labels, n_clusters)")
    check_same_instances(Y, matches)
    expected = (Y.shape[1], matches.shape[1])
    if assignment.shape != expected:
        raise DataError(
            f"assignment must be (n_labels, n_clusters) = {expected}, as Y and matches have it, "
            f"got {assignment.shape}"
        )
    reached_by = np.full(matches.shape[1], -1, np.int64)
    positives, pairs = count_reached(
        *rows_of(Y), *rows_of(matches), *rows_of(assignment), reached_by
    )
    return int(positives), int(pairs)


def check_same_instances(Y: Any, matches: Any) -> None:
    """Raise a DataError unless Y and M have the same instances."""
    if Y.shape[0] != matches.shape[0]:
        raise DataError(
            f"Y has {Y.shape[0]:,} rows and matches has {matches.shape[0]:,}: they must describe "
            "the same instances"
        )
