"""BatchSampler: the batches of each epoch, the same for the same seed, resumable at any step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from multitudes.config import Config, among, setting
from multitudes.deep.prefetch import prefetched
from multitudes.deep.training import ALONE, World
from multitudes.distinct import distinct
from multitudes.encoder.sampling.clusters import (
    BackgroundClustering,
    Clusters,
    ClusterSchedule,
    KeptEmbeddings,
    cluster_instances,
)
from multitudes.encoder.sampling.positives import (
    INVERSE_PROPENSITY,
    UNIFORM,
    PositiveDrawer,
    positive_weights,
)
from multitudes.errors import ConfigError, DataError
from multitudes.types import IntArray, LabelArray, Sparse
from multitudes.validation import checked_labels

# Random numbers are a function of the seed, their purpose and the place in training.
ORDER, DRAW, CLUSTER = range(3)


@dataclass(frozen=True)
class SamplerConfig(Config):
    """How training batches are put together."""

    batch_size: int = setting(
        1024, "Instances per step.", at_least=1, search=among(256, 512, 1024, 1600, 3200)
    )
    positives: int = setting(
        1, "Labels drawn for each instance of a batch.", at_least=1, search=among(1, 2, 3)
    )
    positive_weights: str = setting(
        INVERSE_PROPENSITY,
        "Draw positives in proportion to their inverse propensity, which favors rare labels, or "
        "uniformly.",
        choices=(INVERSE_PROPENSITY, UNIFORM),
        search=among(INVERSE_PROPENSITY, UNIFORM),
    )
    propensity: str = setting("default", "Data set whose propensity constants apply.")
    clustered: bool = setting(
        True,
        "Fill batches with clusters of similar instances, whose labels are hard negatives of one "
        "another; off: in random order.",
    )
    cluster_size: int = setting(4, "Instances per cluster before the first doubling.", at_least=1)
    max_cluster_size: int | None = setting(
        None, "Instances per cluster at most; None: the batch size.", at_least=1
    )
    snapshot_at: float = setting(
        0.5,
        "Part of the epoch before a clustering's first use after which embeddings are copied for "
        "it: later means fresher embeddings and less time for the clustering.",
        at_least=0,
        at_most=1,
    )
    cluster_threads: int | None = setting(
        None, "Threads that cluster during training; None: all cores but two.", at_least=1
    )
    fixed_n_labels: bool = setting(
        False,
        "Fill the labels of a batch up to batch_size * positives with random others, so that "
        "compiled models see one shape; they are further negatives.",
    )
    keep_last: bool = setting(False, "Keep the last, smaller batch of an epoch.")
    prefetch: int = setting(4, "Batches made ahead by a background thread; 0: none.", at_least=0)


@dataclass(frozen=True)
class Batch:
    """One step's instances and labels, on the CPU.

    Parameters
    ----------
    instances : int64 array (b,)
        Rows of the training set.
    labels : int64 array (m,)
        Distinct label ids, ascending: the positives drawn, and fillers where asked for.
    positives : int64 array (b, p)
        Column in `labels` of each positive drawn; -1 where an instance has fewer.
    known_rows, known_columns : int64 arrays (k,)
        Coordinates of *every* known positive pair in the (b, m) target, row by row: those drawn,
        and those that another instance brought along. None of them may serve as a negative.
    """

    instances: IntArray
    labels: IntArray
    positives: IntArray
    known_rows: IntArray
    known_columns: IntArray

    def __len__(self) -> int:
        return len(self.instances)


class BatchSampler:
    """Puts instances and labels together for each training step.

    Every instance with a label comes up once an epoch, in random order or, later in training, in
    clusters of similar instances (NGAME): in-batch negatives are then hard ones. A clustering for
    epoch e starts at a fixed step of epoch e - 1, from the embeddings of that moment, runs during
    training, and is waited for at the start of epoch e: results do not depend on its speed.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
        Training labels. Instances without labels are left out; `n_left_out` counts them.
    config : SamplerConfig
    epochs : int
        Length of the training, which the clustering schedule is scaled to.
    random_state : int
        Same seed, same batches.
    world : World
        Processes that draw the same batches; the clusters of the first one are used by all.

    Examples
    --------
    ::

        for epoch in range(epochs):
            for batch in sampler.epoch(epoch):
                ...                                # a training step that makes h_q (b, d)
                sampler.remember(instances, h_q)   # only needed with clustered=True

    References
    ----------
    Dahiya et al., NGAME, WSDM 2023 (negative mining-aware mini-batching).
    """

    def __init__(
        self,
        Y: Sparse,
        config: SamplerConfig,
        *,
        epochs: int,
        random_state: int = 0,
        world: World = ALONE,
    ) -> None:
        Y = checked_labels(Y, n_instances=Y.shape[0])
        self.config, self.random_state, self.world = config, random_state, world
        self.instances: IntArray = np.flatnonzero(np.diff(Y.indptr)).astype(np.int64)
        self.n_instances, self.n_left_out = len(self.instances), Y.shape[0] - len(self.instances)
        self.schedule = ClusterSchedule(
            epochs=epochs,
            first_size=config.cluster_size,
            max_size=config.max_cluster_size or config.batch_size,
            enabled=config.clustered,
        )
        self._drawer = PositiveDrawer(
            Y, positive_weights(Y, config.positive_weights, propensity=config.propensity)
        )
        self._seen_labels: IntArray = distinct(Y.indices).astype(np.int64)
        self._kept = KeptEmbeddings(Y.shape[0])
        self._clusters: Clusters | None = None
        self._clusters_epoch = -1  # the first epoch that used them
        self._pending: BackgroundClustering | None = None
        self._place: tuple[int, int] | None = None  # (epoch, instances of it so far)

    @property
    def n_steps(self) -> int:
        """Batches of an epoch; a training set smaller than a batch makes one."""
        n_batches = self.n_instances / self.config.batch_size
        return max(1, math.ceil(n_batches) if self.config.keep_last else math.floor(n_batches))

    # ------------------------------------------------------------------ batches

    def epoch(self, epoch: int, start_step: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from a step on, made ahead in a background thread.

        Call it when the epoch begins, not before: it waits for the clustering the epoch needs.
        """
        return prefetched(self.batches(epoch, start_step), self.config.prefetch)

    def batches(self, epoch: int, start_step: int = 0) -> Iterator[Batch]:
        """Like `epoch`, each batch made when it is asked for; to be read in any one thread."""
        clusters = self._clusters_for(epoch, start_step)
        self._place = (epoch, start_step * self.config.batch_size)
        rng = self._rng(ORDER, epoch)
        order = rng.permutation(self.instances) if clusters is None else clusters.shuffled(rng)
        return self._slices(order, epoch, start_step)

    def _slices(self, order: IntArray, epoch: int, start_step: int) -> Iterator[Batch]:
        column = np.full(self._drawer.n_labels, -1, np.int32)
        size = self.config.batch_size
        for step in range(start_step, self.n_steps):
            instances = order[step * size : (step + 1) * size]
            yield self._batch(instances, self._rng(DRAW, epoch, step), column)

    def _batch(self, instances: IntArray, rng: np.random.Generator, column: LabelArray) -> Batch:
        """A batch of given instances; `column` (n_labels,) is all -1 before and afterwards."""
        drawn = self._drawer.draw(instances, self.config.positives, rng)  # (b, p)
        labels = distinct(drawn)
        labels = labels[labels >= 0]
        if self.config.fixed_n_labels:
            labels = self._filled_up(labels, drawn.size, rng)
        column[labels] = np.arange(len(labels))
        positives = np.where(drawn >= 0, column[drawn], -1).astype(np.int64)  # (b, p)
        rows, columns = self._drawer.known(instances, column)
        column[labels] = -1
        return Batch(instances, labels, positives, rows, columns)

    def _filled_up(self, labels: IntArray, size: int, rng: np.random.Generator) -> IntArray:
        """`size` labels, or all that occur in training: the given ones and random others.

        Labels that no training instance has are never taken: a label that only ever is a negative
        would be pushed away from every text.
        """
        seen = self._seen_labels
        size = min(size, len(seen))
        if size > len(seen) // 2:
            others = rng.permutation(seen[~np.isin(seen, labels)])
            return np.union1d(labels, others[: size - len(labels)])
        while len(labels) < size:  # few are drawn twice, so that it takes a turn or two
            drawn = rng.integers(len(seen), size=size - len(labels))
            labels = np.union1d(labels, seen[drawn])
        return labels

    def _rng(self, purpose: int, *place: int) -> np.random.Generator:
        return np.random.default_rng([self.random_state, purpose, *place])

    # ------------------------------------------------------------------ clustering

    def remember(self, instances: torch.Tensor, embeddings: torch.Tensor) -> None:
        """Keep a step's embeddings (b, d) of its instances (b,), on their device, for clustering.

        Call it once after every step; processes that train together hand over what all of them
        made, so that they cluster the same. Before the first epoch it takes embeddings of all
        instances, where there are any; without them those not yet seen fill up clusters at random.
        """
        if not self.config.clustered:
            return
        self._kept.write(instances, embeddings)
        if self._place is None:
            return
        epoch, before = self._place
        self._place = (epoch, before + len(instances))
        due = self.config.snapshot_at * self.n_steps * self.config.batch_size
        if before < max(due, 1) <= before + len(instances) and self.schedule.reclusters(epoch + 1):
            self._start_clustering(epoch + 1)

    def _start_clustering(self, epoch: int) -> None:
        snapshot = self._kept.snapshot()
        random_state = int(self._rng(CLUSTER, epoch).integers(1 << 31))
        self._pending = BackgroundClustering(
            lambda: cluster_instances(
                snapshot(),
                self.instances,
                size=self.schedule.size(epoch),
                random_state=random_state,
                n_jobs=self.config.cluster_threads,
            ),
            epoch,
        )

    def _clusters_for(self, epoch: int, start_step: int) -> Clusters | None:
        """Return the clusters of an epoch, waiting for them if necessary; None: random order."""
        if not self.schedule.size(epoch):
            return None
        due = max(e for e in range(epoch + 1) if self.schedule.reclusters(e))
        is_late = self._clusters_epoch != due and self._pending is None
        if is_late and (epoch, start_step) == (due, 0) and self._kept.values is not None:
            self._start_clustering(due)  # the last moment, with snapshot_at=1
        if self._pending is not None and self._pending.epoch == due:
            self._clusters, self._clusters_epoch = self._agreed(self._pending.result()), due
            self._pending = None
        if self._clusters_epoch != due:
            raise ConfigError(
                f"epoch {epoch} needs the clusters that are made during epoch {due - 1}, which "
                "do not exist: call remember(instances, embeddings) after every step, resume with "
                "load_state_dict, or set clustered=False"
            )
        return self._clusters

    def _agreed(self, clusters: Clusters) -> Clusters:
        """The first process's clusters: GPUs sum in any order, and may halve otherwise."""
        instances = self.world.array_from_first(clusters.instances)
        return Clusters(instances, self.world.array_from_first(clusters.offsets))

    # ------------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """Return all that a resumed training needs; waits for a running clustering."""
        state: dict[str, Any] = {"random_state": self.random_state, "n_instances": self.n_instances}
        if self._kept.values is not None:
            state["embeddings"] = self._kept.values
        if self._clusters is not None:
            state |= _clusters_state("clusters", self._clusters, self._clusters_epoch)
        if self._pending is not None:
            state |= _clusters_state("pending", self._pending.result(), self._pending.epoch)
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a state of the same training; then ask for ``epoch(epoch, start_step)``."""
        for name in ("random_state", "n_instances"):
            if int(state[name]) != getattr(self, name):
                raise DataError(
                    f"the sampler's state was saved with {name}={int(state[name])}, this training "
                    f"has {getattr(self, name)}: resume with the same data and settings"
                )
        self._place = None
        self._kept.values = state.get("embeddings")
        self._clusters, self._clusters_epoch = _read_clusters(state, "clusters")
        pending, epoch = _read_clusters(state, "pending")
        self._pending = None if pending is None else BackgroundClustering(lambda: pending, epoch)


def _clusters_state(name: str, clusters: Clusters, epoch: int) -> dict[str, Any]:
    return {
        f"{name}.epoch": epoch,
        f"{name}.instances": clusters.instances,
        f"{name}.offsets": clusters.offsets,
    }


def _read_clusters(state: Mapping[str, Any], name: str) -> tuple[Clusters | None, int]:
    if f"{name}.epoch" not in state:
        return None, -1
    clusters = Clusters(state[f"{name}.instances"], state[f"{name}.offsets"])
    return clusters, int(state[f"{name}.epoch"])
