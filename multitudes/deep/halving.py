"""Balanced clusters of vectors on their own device: all clusters of a level halved at once.

The library's kernels for the CPU halve cluster after cluster. On a GPU,
every step below is one operation over all vectors, so that a few hundred thousand of them are
clustered in a fraction of a second, during the training that needs the clusters.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from multitudes.types import IntArray

MAX_ITERATIONS = 5
"""Of each 2-means: more of them change little that matters to training."""
VECTORS_ON_DEVICE = 1 << 21
"""How many vectors from the host's memory a device is given at a time."""
SAMPLE = 1 << 16
"""Vectors that tell how to halve a cluster of more."""


def halve(
    vectors: Tensor, *, size: int, random_state: int, max_iterations: int = MAX_ITERATIONS
) -> tuple[Tensor, IntArray]:
    """Cluster vectors by balanced spherical 2-means, repeated until no cluster is too large.

    Parameters
    ----------
    vectors : float tensor (n, d)
        A zero row fills whatever cluster has room.
    size : int
        Vectors per cluster at most. Sizes differ by at most one, and the number of clusters is a
        power of two.
    random_state : int
        Chooses the two vectors that each 2-means starts from.
    max_iterations : int
        Of each 2-means.

    Returns
    -------
    order : int64 tensor (n,)
        Rows of `vectors`, cluster after cluster, on their device.
    offsets : int64 array (n_clusters + 1,)
        Where each cluster begins and ends.
    """
    generator = np.random.default_rng(random_state)
    order = torch.arange(len(vectors), device=vectors.device)
    sizes: IntArray = np.array([len(vectors)], np.int64)
    while sizes.max() > size:
        order = _halved(vectors, order, sizes, generator, max_iterations)
        sizes = _half_sizes(sizes)
    return order, np.concatenate([[0], np.cumsum(sizes)])


def halve_from_host(
    vectors: Tensor, *, size: int, random_state: int, device: torch.device | str
) -> tuple[Tensor, IntArray]:
    """Cluster vectors in the host's memory on a device that need not have room for all.

    As `halve`; up to `VECTORS_ON_DEVICE` are sent to the device at a time. Larger clusters are
    halved by the direction that 2-means finds in a sample of them.

    Parameters
    ----------
    vectors : float tensor (n, d)
        In the host's memory.
    size, random_state
        As of `halve`.
    device : device

    Returns
    -------
    order : int64 tensor (n,), in the host's memory
    offsets : int64 array (n_clusters + 1,)
    """
    generator = np.random.default_rng(random_state)
    orders = [torch.arange(len(vectors))]
    sizes: IntArray = np.array([len(vectors)], np.int64)
    while sizes.max() > max(size, VECTORS_ON_DEVICE):
        orders = [half for o in orders for half in _halved_by_sample(vectors, o, generator, device)]
        sizes = _half_sizes(sizes)
    n_halvings, left = 0, sizes
    while left.max() > size:
        n_halvings, left = n_halvings + 1, _half_sizes(left)
    found = []
    for own in orders:
        there = vectors[own].to(device)
        order, own_sizes = torch.arange(len(own), device=device), np.array([len(own)], np.int64)
        for _ in range(n_halvings):
            order = _halved(there, order, own_sizes, generator, MAX_ITERATIONS)
            own_sizes = _half_sizes(own_sizes)
        found.append(own[order.cpu()])
    return torch.cat(found), np.concatenate([[0], np.cumsum(left)])


def _half_sizes(sizes: IntArray) -> IntArray:
    """The sizes of both halves of each cluster, the larger half first."""
    halves: IntArray = np.stack([sizes - sizes // 2, sizes // 2], axis=1).ravel()
    return halves


def _halved_by_sample(
    vectors: Tensor, order: Tensor, generator: np.random.Generator, device: torch.device | str
) -> list[Tensor]:
    """Both halves of one cluster (n,) of vectors in the host's memory, the larger one first."""
    drawn = torch.from_numpy(generator.integers(len(order), size=SAMPLE))
    sample = vectors[order[drawn]].to(device)  # (SAMPLE, d)
    halves = _halved(
        sample, torch.arange(SAMPLE, device=device), np.array([SAMPLE]), generator, MAX_ITERATIONS
    )
    first, second = (F.normalize(sample[half].float().sum(0), dim=0) for half in halves.chunk(2))
    scores = torch.cat(
        [
            vectors[some].to(device, torch.float32) @ (first - second)
            for some in torch.split(order, VECTORS_ON_DEVICE)
        ]
    )  # (n,)
    by_score = order[torch.sort(scores, descending=True, stable=True).indices.cpu()]
    return list(torch.split(by_score, _half_sizes(np.array([len(order)])).tolist()))


def _halved(
    vectors: Tensor,
    order: Tensor,
    sizes: IntArray,
    generator: np.random.Generator,
    max_iterations: int,
) -> Tensor:
    """The same clusters, each sorted so that its larger half comes first."""
    device, n_clusters = vectors.device, len(sizes)
    starts = np.cumsum(sizes) - sizes
    first = generator.integers(sizes)
    second = (first + generator.integers(1, np.maximum(sizes, 2))) % sizes
    seeds = torch.from_numpy(np.stack([starts + first, starts + second])).to(device)
    direction = (vectors[order[seeds[0]]] - vectors[order[seeds[1]]]).float()  # (n_clusters, d)
    cluster = torch.repeat_interleave(
        torch.arange(n_clusters, device=device), torch.from_numpy(sizes).to(device)
    )  # (n,)
    half = torch.from_numpy(starts + sizes - sizes // 2).to(device)  # first of the second half
    place = torch.arange(len(order), device=device)
    side = cluster * 2 + (place >= half[cluster])  # (n,)
    for _ in range(max_iterations):
        rows = vectors[order]  # (n, d)
        score = (rows * direction.to(rows.dtype)[cluster]).sum(dim=1, dtype=torch.float32)  # (n,)
        by_score = torch.sort(score, descending=True, stable=True).indices
        # A stable sort by cluster keeps the order of scores within each.
        by_cluster = torch.sort(cluster[by_score], stable=True).indices
        order = order[by_score[by_cluster]]  # (n,)
        sums = torch.zeros(2 * n_clusters, vectors.shape[1], device=device)
        sums.index_add_(0, side, vectors[order].float())
        means = F.normalize(sums, dim=1).view(n_clusters, 2, -1)  # (n_clusters, 2, d)
        direction = means[:, 0] - means[:, 1]  # (n_clusters, d)
    return order
