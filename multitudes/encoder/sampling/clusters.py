"""Clusters of similar instances: when they are made, from which embeddings, and how."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from multitudes.deep.halving import MAX_ITERATIONS, halve
from multitudes.errors import ConfigError
from multitudes.kernels.threads import available_cores
from multitudes.labels import build_tree
from multitudes.types import IntArray

# NGAME's curriculum, in epochs of a training of 300 epochs.
PUBLISHED_EPOCHS = 300
FIRST_CLUSTERING = 10
EPOCHS_PER_CLUSTERING = 5
DOUBLINGS = (10, 25, 50, 75, 100, 125, 150, 200)

Snapshot = Callable[[], torch.Tensor]
"""Embeddings as they were when it was taken, (n, d); called later, in another thread."""


@dataclass(frozen=True)
class ClusterSchedule:
    """NGAME's schedule, scaled: epoch e of n stands for epoch 300 e / n of the published one.

    There, batches are random before epoch 10; from then on instances are clustered every 5 epochs,
    and the cluster size, 4 at first, doubles at epochs 10, 25, 50, 75, 100, 125, 150 and 200. The
    larger the clusters, the more similar the instances of a batch, and the harder its negatives.

    Parameters
    ----------
    epochs : int
        Length of the training.
    first_size : int
        Cluster size before the first doubling.
    max_size : int
        Cluster size at most: sensibly at most the batch size.
    enabled : bool
        False: random order throughout.

    Examples
    --------
    >>> schedule = ClusterSchedule(epochs=20, first_size=4, max_size=3200)
    >>> [schedule.size(epoch) for epoch in (0, 1, 2, 4, 19)]
    [0, 8, 16, 32, 1024]
    """

    epochs: int
    first_size: int = 4
    max_size: int = 1 << 30
    enabled: bool = True

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise ConfigError(f"epochs must be >= 1, got {self.epochs}")

    def size(self, epoch: int) -> int:
        """Instances per cluster in an epoch; 0 if the order is random."""
        if not self.enabled or self._before(epoch, FIRST_CLUSTERING):
            return 0
        doublings = sum(not self._before(epoch, step) for step in DOUBLINGS)
        return int(min(self.first_size << doublings, self.max_size))

    def reclusters(self, epoch: int) -> bool:
        """Whether an epoch is the first to use a new clustering."""
        if not 0 <= epoch < self.epochs or not self.size(epoch):
            return False
        return self._period(epoch) != self._period(epoch - 1) or not self.size(epoch - 1)

    def _before(self, epoch: int, published: int) -> bool:
        # Whole numbers: 300 * 1 / 30 must not come out below 10.
        return epoch * PUBLISHED_EPOCHS < published * self.epochs

    def _period(self, epoch: int) -> int:
        """Clusterings that the published schedule has made by now, the first not counted."""
        elapsed = epoch * PUBLISHED_EPOCHS - FIRST_CLUSTERING * self.epochs
        return elapsed // (EPOCHS_PER_CLUSTERING * self.epochs)


class KeptEmbeddings:
    """The latest embedding of each instance, float16 (n_instances, d), kept for the clustering.

    Zero before the first.

    Nothing here makes the device wait: writing is one kernel, and a snapshot is a copy on the
    device that a background thread works with.
    """

    def __init__(self, n_instances: int) -> None:
        self.n_instances = n_instances
        self.values: torch.Tensor | None = None  # (n_instances, d) on the device of the embeddings

    @torch.no_grad()
    def write(self, instances: torch.Tensor, embeddings: torch.Tensor) -> None:
        """Keep the embeddings (b, d) of distinct instances (b,), both on one device."""
        if self.values is None or self.values.device != embeddings.device:
            self.values = self._moved_to(embeddings)
        # A step that went wrong is for training to notice, not for the clustering.
        finite = embeddings.detach().to(torch.float16).nan_to_num()
        self.values.index_copy_(0, instances, finite)

    def snapshot(self) -> Snapshot:
        """The embeddings of this moment; what is written later does not change them."""
        if self.values is None:
            raise RuntimeError("no embeddings were kept yet")
        copy = self.values.clone()
        if copy.device.type != "cuda":
            return lambda: copy
        copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
        copied.record()

        def take() -> torch.Tensor:
            # This thread works on a stream of its own: on training's it would hold up its kernels.
            stream = torch.cuda.Stream(copy.device)  # type: ignore[no-untyped-call]
            torch.cuda.set_stream(stream)
            stream.wait_event(copied)
            copy.record_stream(stream)
            return copy

        return take

    def _moved_to(self, embeddings: torch.Tensor) -> torch.Tensor:
        if self.values is not None:
            return self.values.to(embeddings.device)
        shape = (self.n_instances, embeddings.shape[1])
        return torch.zeros(shape, dtype=torch.float16, device=embeddings.device)


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
    """Cluster instances by balanced spherical 2-means, repeated until clusters are small.

    Parameters
    ----------
    embeddings : float tensor (n_all, d)
        One for every row of the training set; a zero row fills whatever cluster has room. On a
        GPU they are clustered there.
    instances : int64 array (n,)
        The rows to cluster.
    size : int
        Instances per cluster at most; sizes differ by at most one, and the number of clusters is a
        power of two, so that clusters may be up to half as large.
    random_state : int
        Same seed, same clusters, whatever the number of threads.
    n_jobs : int, optional
        Defaults to all cores but two, which are left to training; unused on a GPU.
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
    """A clustering that runs in a thread of its own, for a given epoch.

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
