"""Make grouped data from ordinary data, for study: random, clustered and noisy groups.

The three ways of grouping in the paper's experiments (section 7.2). Every instance is in exactly
one group; `merge_labels` then forgets which member of a group carries which label.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data.groups import memberships, merge_labels, random_groups
from multitudes.errors import ConfigError, DataError
from multitudes.features.weighting import normalized
from multitudes.labels import build_tree
from multitudes.validation import checked_count, checked_features, checked_number

__all__ = ["clustered_groups", "merge_labels", "noisy_groups", "random_groups"]


def clustered_groups(
    X: Any, depth: int, *, random_state: int = 0, n_jobs: int | None = None
) -> sp.csr_array[Any]:
    """Group similar instances: balanced spherical 2-means, applied `depth` times.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features)
        Features; only directions count.
    depth : int
        The result has 2 ** depth groups, whose sizes differ by at most one. At least 0 (all
        instances in one group), and so that no group is empty.
    random_state : int
        Chooses the instances each 2-means starts from. Same seed, same groups, on any threads.
    n_jobs : int, optional
        All cores by default.

    Returns
    -------
    csr_array (n_instances, n_groups), float32
        1 where an instance is in a group.

    Notes
    -----
    The paper's k-means need not be balanced. Equal sizes keep the group size, which decides how
    hard the problem is, the same in all groups.
    """
    return _cluster(checked_features(X), depth, random_state, n_jobs)


def noisy_groups(
    X: Any, depth: int, noise: float, *, random_state: int = 0, n_jobs: int | None = None
) -> sp.csr_array[Any]:
    """Group by clustering features that were mixed with noise (Figure 4c of the paper).

    Parameters
    ----------
    X : CSR or array (n_instances, n_features)
        Features; only directions count.
    depth : int
        As of `clustered_groups`.
    noise : float
        From 0, which is `clustered_groups`, to 1, which is random groups of the same sizes.
    random_state : int
        Of the noise and of the clustering.
    n_jobs : int, optional
        All cores by default.

    Notes
    -----
    The paper does not say which noise. Here the noise of an instance is another instance, drawn
    by a random permutation: it clusters as well as the signal, so groups go over from alike to
    random evenly, and it is as sparse. Gaussian noise is dense, and in many dimensions changes
    nothing until it drowns everything.
    """
    noise = checked_number(noise, "noise", at_least=0, at_most=1)
    X = normalized(checked_features(X).copy())
    order = np.random.default_rng(
        checked_count(random_state, "random_state", at_least=0)
    ).permutation(X.shape[0])
    mixed = X if noise == 0 else sp.csr_array((1 - noise) * X + noise * X[order])
    return _cluster(mixed, depth, random_state, n_jobs)


def _cluster(X: Any, depth: int, random_state: int, n_jobs: int | None) -> sp.csr_array[Any]:
    n_instances = int(X.shape[0])
    if n_instances == 0:
        raise DataError("X has no rows: there is nothing to group")
    n_groups = 2 ** checked_count(depth, "depth", at_least=0)
    if n_groups > n_instances:
        raise ConfigError(
            f"depth must be at most {n_instances.bit_length() - 1}, so that each of the "
            f"2 ** depth groups has one of the {n_instances:,} instances, got {depth}"
        )
    tree = build_tree(
        X,
        branching=2,
        max_leaf_size=-(-n_instances // n_groups),
        random_state=random_state,
        n_jobs=n_jobs,
    )
    group_of = np.empty(n_instances, np.int64)
    for group in range(tree.n_leaves):
        group_of[tree.labels_of_leaf(group)] = group
    return memberships(group_of, tree.n_leaves)
