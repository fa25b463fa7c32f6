"""Small problems of assignment, and their exact optimum."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

KINDS = ("even", "long tail", "long tail and popular clusters")


def sparse(rows):
    """A float32 CSR of a dense matrix."""
    return sp.csr_array(np.asarray(rows, np.float32))


def partition(home, n_clusters):
    """The assignment of one cluster per label."""
    home = np.asarray(home)
    ones = np.ones(len(home), np.float32)
    return sp.csr_array((ones, home, np.arange(len(home) + 1)), shape=(len(home), n_clusters))


def matched_problem(rng, kind):
    """Y, matches and a balanced partition of 5 to 80 labels in 3 to 11 clusters."""
    n, n_labels, n_clusters = rng.integers(10, 300), rng.integers(5, 80), rng.integers(3, 12)
    beam = rng.integers(1, min(n_clusters, 5) + 1)
    popular = rng.permutation(1 / np.arange(1, n_labels + 1.0) ** (kind != "even"))
    visited = 1 / np.arange(1, n_clusters + 1.0) ** (1.5 * (kind == KINDS[2]))
    Y, matches = np.zeros((n, n_labels)), np.zeros((n, n_clusters))
    for labels, clusters in zip(Y, matches, strict=True):
        size = rng.integers(1, 4)
        labels[rng.choice(n_labels, size, replace=False, p=popular / popular.sum())] = 1
        clusters[rng.choice(n_clusters, beam, replace=False, p=visited / visited.sum())] = 1
    home = rng.permutation(np.arange(n_labels) % n_clusters)
    return sparse(Y), sparse(matches), partition(home, n_clusters)


def optimum(counts, current, *, overlap, cap):
    """The largest summed counts under both limits, each label where it has a count or lives.

    The constraints are totally unimodular, so the linear program has a whole solution.
    """
    n_labels, n_clusters = counts.shape
    dense = counts.toarray()
    labels, clusters = np.nonzero((dense > 0) | (current.toarray() > 0))
    pairs, ones = np.arange(len(labels)), np.ones(len(labels))
    by_label = sp.csr_array((ones, (labels, pairs)), shape=(n_labels, len(labels)))
    by_cluster = sp.csr_array((ones, (clusters, pairs)), shape=(n_clusters, len(labels)))
    limits = [np.full(n_labels, overlap), np.full(n_labels, -1), np.full(n_clusters, cap)]
    result = linprog(
        -dense[labels, clusters],
        A_ub=sp.vstack([by_label, -by_label, by_cluster]),
        b_ub=np.concatenate(limits),
        bounds=(0, 1),
    )
    assert result.status == 0, result.message
    return -result.fun
