"""LabelMemory: centroids and free vectors in the host's memory, those of a few batches on the card.

With ``PrototypeConfig.label_memory="host"``. The memory of the card does not grow with the labels,
nor does the work of a step: Adam moves the free vectors of the batch's labels alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from multitudes.deep.training import SparseRows
from multitudes.encoder.prototypes.centroids import Centroids
from multitudes.encoder.prototypes.free_vectors import FreeVectors
from multitudes.encoder.prototypes.row_cache import Loaded, RowCache
from multitudes.types import IntArray

BATCHES_LEAVING = 2
"""Batches whose rows may be on their way back before further ones have to wait."""
MOMENTS = ("exp_avg", "exp_avg_sq")


class Held(NamedTuple):
    """The rows that a batch of m labels needs, on the device when its step begins."""

    centroids: Loaded | None
    centroid_slots: Tensor | None  # int64 (m,), a row of `LabelMemory.centroids` for each label
    free: Loaded | None
    free_slots: Tensor | None  # int64 (m,), likewise of `LabelMemory.free_vectors`


class LabelMemory:
    """The rows of a few batches on the device, of tables in the host's memory.

    Parameters
    ----------
    centroids : Centroids or None
        In the host's memory, of all labels.
    free_vectors : FreeVectors or None
        Likewise.
    labels_at_once : int
        Labels of a batch, at most.
    batches_ahead : int
        Batches under way at most: made ahead, and not yet done with.
    device : torch.device

    Attributes
    ----------
    centroids, free_vectors : Centroids and FreeVectors, or None
        On the device: of as many labels as batches under way can have.
    """

    def __init__(
        self,
        centroids: Centroids | None,
        free_vectors: FreeVectors | None,
        *,
        labels_at_once: int,
        batches_ahead: int,
        device: torch.device,
    ) -> None:
        capacity = labels_at_once * (batches_ahead + BATCHES_LEAVING)
        self.device = device
        self.centroids: Centroids | None = None
        self.free_vectors: FreeVectors | None = None
        self._centroid_rows: RowCache | None = None
        self._free_rows: RowCache | None = None
        if centroids is not None:
            n_labels, dim = centroids.vectors.shape
            size = min(capacity, n_labels)
            self.centroids = Centroids(
                size, dim, momentum=centroids.momentum, unit_length=centroids.unit_length
            ).to(device)
            own = dict(self.centroids.named_buffers())
            self._centroid_rows = RowCache(dict(centroids.named_buffers()), own)
        if free_vectors is not None:
            n_vectors, dim = free_vectors.vectors.shape
            size = min(capacity, n_vectors)
            self._clusters: IntArray = free_vectors.clusters.numpy()
            self.free_vectors = FreeVectors(np.arange(size), size, dim, sparse=True).to(device)
            vectors, kept = self.free_vectors.vectors, free_vectors.vectors.data
            moments = {name: torch.zeros_like(kept) for name in MOMENTS}
            own = {name: torch.zeros_like(vectors.data) for name in MOMENTS}
            self._free_rows = RowCache(
                {"vectors": kept, **moments}, {"vectors": vectors.data, **own}
            )
            self.sparse_rows = (SparseRows(vectors, own),)

    sparse_rows: tuple[SparseRows, ...] = ()

    @property
    def _caches(self) -> list[RowCache]:
        return [cache for cache in (self._centroid_rows, self._free_rows) if cache is not None]

    # ------------------------------------------------------------------ a batch, in order

    def load(self, labels: IntArray) -> Held:
        """Begin to bring the rows of distinct labels (m,) to the device."""
        centroids = free = centroid_slots = free_slots = None
        if self._centroid_rows is not None:
            centroids = self._centroid_rows.load(labels)
            centroid_slots = self._sent(centroids.slots)
        if self._free_rows is not None:
            clusters, places = np.unique(self._clusters[labels], return_inverse=True)
            free = self._free_rows.load(clusters)
            free_slots = self._sent(free.slots[places])
        return Held(centroids, centroid_slots, free, free_slots)

    def insert(self, held: Held) -> None:
        """Put the rows of a batch in their places: its step begins."""
        for cache, loaded in self._pairs(held):
            cache.insert(loaded)

    def released(self, batches: Iterable[Any], accumulate: int) -> Iterator[Any]:
        """The batches, the rows of each let go when its optimizer step is surely over.

        That is when the batch `accumulate` places behind it is asked for.
        """
        waiting: list[Held] = []
        drawn = iter(batches)
        try:
            for batch in drawn:
                waiting.append(batch.held)
                if len(waiting) > accumulate:
                    for cache, loaded in self._pairs(waiting.pop(0)):
                        cache.release(loaded)
                yield batch
        finally:
            close = getattr(drawn, "close", None)  # ends a generator's thread at once
            if close is not None:
                close()

    def _pairs(self, held: Held) -> list[tuple[RowCache, Loaded]]:
        both = ((self._centroid_rows, held.centroids), (self._free_rows, held.free))
        return [(cache, rows) for cache, rows in both if cache is not None and rows is not None]

    def _sent(self, slots: IntArray) -> Tensor:
        tensor = torch.from_numpy(slots)
        if self.device.type == "cuda":
            tensor = tensor.pin_memory()
        return tensor.to(self.device, non_blocking=True)

    # ------------------------------------------------------------------ between batches

    def settle(self) -> None:
        """Bring the tables in the host's memory up to date."""
        for cache in self._caches:
            cache.settle()

    def reset(self) -> None:
        """Bring them up to date, and read them again from now on; no batch may be under way."""
        for cache in self._caches:
            cache.reset()

    def state_dict(self) -> dict[str, Tensor]:
        """Adam's moments of all free vectors; the tables are part of the network."""
        self.settle()
        if self._free_rows is None:
            return {}
        return {name: self._free_rows.host[name] for name in MOMENTS}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from `state_dict`, once the network has its tables back."""
        for cache in self._caches:
            cache.forget()
        for name, moments in state.items():
            assert self._free_rows is not None
            self._free_rows.host[name].copy_(moments)
