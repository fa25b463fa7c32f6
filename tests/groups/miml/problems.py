"""Small problems over bags whose answers are known."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch

from multitudes.data.groups import merge_labels, random_groups

N_LABELS = 4


class Bagged(NamedTuple):
    X: np.ndarray
    labels: np.ndarray  # of each instance; -1 for noise that has none
    groups: sp.csr_array
    group_labels: sp.csr_array


def one_hot(labels):
    """A 0/1 CSR (n, N_LABELS), empty rows where there is no label."""
    Y = np.zeros((len(labels), N_LABELS), np.float32)
    Y[labels >= 0, labels[labels >= 0]] = 1
    return sp.csr_array(Y)


def bagged(n=480, *, size=4, noise=0.5, random_state=0):
    """Instances near one of N_LABELS axes, or near the origin without a label, in random bags."""
    rng = np.random.default_rng(random_state)
    labels = np.where(rng.random(n) < noise, -1, rng.integers(0, N_LABELS, n))
    X = 0.1 * rng.standard_normal((n, N_LABELS + 2))
    X[labels >= 0, labels[labels >= 0]] += 1
    groups = random_groups(n, size, random_state=random_state)
    group_labels = merge_labels(one_hot(labels), groups)
    return Bagged(X.astype(np.float32), labels, groups, group_labels)


def member_rows(*bags):
    """Bags as a padded int64 tensor (n_bags, largest bag)."""
    width = max(map(len, bags))
    return torch.tensor([[*bag, *[-1] * (width - len(bag))] for bag in bags])
