"""Grouped data with a known answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data.groups import merge_labels, random_groups


def words_of_labels(
    random_state: int = 0,
    *,
    n: int = 240,
    n_labels: int = 20,
    size: int = 4,
    noise: int = 3,
    as_counts: bool = True,
) -> tuple[Any, Any, Any, Any]:
    """X, Y, groups, group_labels: a label has two words, every instance some common ones besides.

    The common words are the same few in all instances, so that sums of groups are full of them.
    """
    rng = np.random.default_rng(random_state)
    Y = np.zeros((n, n_labels), np.float32)
    Y[np.arange(n), rng.integers(0, n_labels, n)] = 1
    Y[np.arange(n), rng.integers(0, n_labels, n)] = 1
    words = np.kron(np.eye(n_labels, dtype=np.float32), np.ones((1, 2), np.float32))
    common = np.zeros((n, 10), np.float32)
    for row in common:
        row[rng.choice(10, noise, replace=False)] = 1
    X = np.hstack([Y @ words, common])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    groups = random_groups(n, size, random_state=random_state)
    return sp.csr_array(X), sp.csr_array(Y), groups, merge_labels(Y, groups, as_counts=as_counts)
