"""Clusters of similar instances, made beside training from embeddings of earlier steps."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from multitudes.encoder.halving import MAX_ITERATIONS, halve
from multitudes.kernels.threads import available_cores
from multitudes.labels import build_tree
from multitudes.types import IntArray


@dataclass(frozen=True)
class Clusters:
    """Training instances, cluster after cluster.

    Parameters
    ----------
    instances : int64 array (n,)
        Rows of the training set, each once.
    offsets : int64 array (n_clusters + 1,)
        Cluster c is ``instances[offsets[c]:offsets[c + 1]]``.
    """

    instances: IntArray
    offsets: IntArray

    def shuffled(self, rng: np.random.Generator) -> IntArray:
        """All instances, int64 (n,): the clusters in random order, each kept together."""
        picked = rng.permutation(len(self.offsets) - 1)
        sizes = np.diff(self.offsets)[picked]
        ends = np.cumsum(sizes)
        # Where each instance stands: its cluster's start plus its place within the cluster.
        shifts = np.repeat(self.offsets[picked] - (ends - sizes), sizes)
        where: IntArray = np.arange(len(self.instances)) + shifts
        return self.instances[where]


def cluster_instances(
    embeddings: torch.Tensor,
    instances: IntArray,
    *,
    size: int,
    random_state: int,
    n_jobs: int | None = None,
) -> Clusters:
    """Cluster instances by balanced spherical 2-means, again and again until few are left.

    Parameters
    ----------
    embeddings : float tensor (n_all, d)
        Of every row of the training set; a zero row fills whatever cluster has room. On a GPU they
        are clustered there.
    instances : int64 array (n,)
        The rows to cluster.
    size : int
        Instances per cluster at most; sizes differ by at most one, and the number of clusters is a
        power of two, so that clusters may be up to half as large.
    random_state : int
        Same seed, same clusters, whatever the number of threads.
    n_jobs : int, optional
        By default all cores but two, which are left to training; unused on a GPU.
    """
    if embeddings.device.type != "cpu":
        rows = torch.from_numpy(instances).to(embeddings.device)
        order, offsets = halve(embeddings[rows], size=size, random_state=random_state)
        return Clusters(instances[order.cpu().numpy()], offsets)
    n_jobs = max(1, available_cores() - 2) if n_jobs is None else n_jobs
    tree = build_tree(
        embeddings.numpy()[instances].astype(np.float32, copy=False),
        branching=2,
        max_leaf_size=size,
        max_iterations=MAX_ITERATIONS,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return Clusters(instances[tree.slot_labels], np.asarray(tree.offsets[-1]))


class BackgroundClustering:
    """A clustering under way in a thread of its own, for a given epoch.

    Parameters
    ----------
    work : callable
        Makes the clusters; it is called in the background.
    epoch : int
        The first epoch that uses them.
    """

    def __init__(self, work: Callable[[], Clusters], epoch: int) -> None:
        self.epoch = epoch
        with_one_thread = ThreadPoolExecutor(1, thread_name_prefix="clustering")
        self._future: Future[Clusters] = with_one_thread.submit(work)
        with_one_thread.shutdown(wait=False)

    def result(self) -> Clusters:
        """The clusters, waited for; an error of the background thread is raised here."""
        return self._future.result()
