"""Label centroids: the mean embedding of a label's instances, kept up to date while training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional

from multitudes.deep.training import ALONE, World
from multitudes.errors import DataError
from multitudes.types import Sparse

PAIRS_AT_ONCE = 1 << 18
"""Pairs of an instance and a label that `recompute` adds up in one go."""


class Centroids(nn.Module):
    """One vector per label, on the device: part of checkpoints and not trained by gradients.

    Parameters
    ----------
    n_labels : int
        Labels.
    dim : int
        Length of the vectors, d.
    momentum : float
        Part of a centroid that one batch leaves as it was (alpha of Eq. 4).
    unit_length : bool
        Whether `update` brings centroids back to length 1, which Eq. 4 does not.
    on_host : bool
        Stay in the host's memory when the network moves to a device.

    Attributes
    ----------
    vectors : float32 buffer (n_labels, d)
        The centroids; zero where a label has none.
    present : bool buffer (n_labels,)
        Which labels have one: those with an instance seen so far.
    counts : int64 buffer (n_labels,)
        Training instances of each label, as `recompute` found them; 0 before.
    """

    vectors: Tensor
    present: Tensor
    counts: Tensor

    def __init__(
        self,
        n_labels: int,
        dim: int,
        *,
        momentum: float = 0.95,
        unit_length: bool = False,
        on_host: bool = False,
    ) -> None:
        super().__init__()
        self.momentum, self.unit_length, self.on_host = momentum, unit_length, on_host
        self.register_buffer("vectors", torch.zeros(n_labels, dim))
        self.register_buffer("present", torch.zeros(n_labels, dtype=torch.bool))
        self.register_buffer("counts", torch.zeros(n_labels, dtype=torch.int64))

    def forward(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Centroids (m, d) of some labels (m,), and which of them have one, bool (m,)."""
        rows = labels.to(self.vectors.device)
        return self.vectors[rows].to(labels.device), self.present[rows].to(labels.device)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """What `to`, `cuda` and the like do; nothing to a table in the host's memory."""
        return self if self.on_host else super()._apply(fn, recurse)  # type: ignore[no-untyped-call]

    def has_others(self, labels: Tensor, known_columns: Tensor) -> Tensor:
        """Which of a batch's labels (m,) have an instance outside the batch, bool (m,).

        The centroid of one that has none is made of the very instances it is compared with.
        `known_columns` (k,) holds the place in `labels` of every known pair.
        """
        inside = torch.zeros_like(labels).index_add_(
            0, known_columns, torch.ones_like(known_columns)
        )  # (m,)
        return self.counts[labels] > inside

    @torch.no_grad()
    def update(
        self,
        labels: Tensor,
        instances: Tensor,
        known_rows: Tensor,
        known_columns: Tensor,
        *,
        world: World = ALONE,
    ) -> None:
        """Move the centroids of a batch's labels towards its instances, by momentum (Eq. 4).

        ``c <- momentum * c + (1 - momentum) * h``, where h is the mean embedding of the label's
        known instances in the batch (the equation says nothing about several). As in the equation
        the result is not normalized, unless `unit_length` says so: a mean of unit vectors is at
        most of length 1. A label without a centroid starts from h; one without an instance in the
        batch stays.

        Parameters
        ----------
        labels : int64 tensor (m,)
            Distinct label ids of the batch.
        instances : float tensor (b, d)
            Embeddings of its instances, of unit length.
        known_rows, known_columns : int64 tensors (k,)
            Known positive pairs: a row of `instances`, a place in `labels`.
        world : World
            Processes that update the same centroids. Each takes over what one of them has
            computed: on GPUs, sums differ in their last bits.
        """
        picked = instances.detach().float()[known_rows]  # (k, d)
        mean, count = _means(picked, known_columns, len(labels))  # (m, d), (m, 1)
        old, had_one = self.vectors[labels], self.present[labels].unsqueeze(1)  # (m, d), (m, 1)
        moved = torch.where(had_one, torch.lerp(mean, old, self.momentum), mean)  # (m, d)
        if self.unit_length:
            moved = functional.normalize(moved, dim=1)  # (m, d)
        has_instance = count > 0  # (m, 1)
        new = torch.where(has_instance, moved, old)  # (m, d)
        new = world.gathered(world.own_rows(new), len(labels))  # (m, d)
        self.vectors.index_copy_(0, labels, new)
        self.present.index_copy_(0, labels, (has_instance | had_one).squeeze(1))

    @torch.no_grad()
    def recompute(
        self, embeddings: Tensor | np.ndarray[Any, Any], Y: Sparse, *, world: World = ALONE
    ) -> None:
        """Set every centroid to the normalized mean of its instances' embeddings.

        Used before training, and after each epoch with ``centroids="exact"``.

        Parameters
        ----------
        embeddings : float tensor or array (n_instances, d)
            Embeddings of all instances, on any device.
        Y : CSR (n_instances, n_labels)
            Labels of each instance; stored zeros do not count.
        world : World
            Processes that do the same; the first one's result counts.
        """
        sums, counts = self._sums(embeddings, Y)
        functional.normalize(sums, dim=1, out=self.vectors)
        world.from_first(self.vectors)
        self.present.copy_(torch.from_numpy(counts > 0))
        self.counts.copy_(torch.from_numpy(counts))

    @torch.no_grad()
    def include(self, embeddings: Tensor | np.ndarray[Any, Any], Y: Sparse) -> None:
        """Take further instances into the centroids, each old instance counting as much as a new.

        Parameters as in `recompute`, of the new instances alone. A label without any stays as it
        is.
        """
        sums, counts = self._sums(embeddings, Y)
        old = functional.normalize(self.vectors, dim=1) * self.counts[:, None]  # (n_labels, d)
        more = torch.from_numpy(counts).to(self.counts)  # (n_labels,)
        moved = functional.normalize(old + sums, dim=1)  # (n_labels, d)
        self.vectors.copy_(torch.where((more > 0)[:, None], moved, self.vectors))
        self.present.logical_or_(more > 0)
        self.counts.add_(more)

    def _sums(
        self, embeddings: Tensor | np.ndarray[Any, Any], Y: Sparse
    ) -> tuple[Tensor, np.ndarray[Any, Any]]:
        """Return the summed embeddings (n_labels, d) and the number (n_labels,) of instances."""
        n_labels, dim = self.vectors.shape
        if Y.shape != (len(embeddings), n_labels) or embeddings.shape[1] != dim:
            raise DataError(
                f"centroids of {n_labels} labels and length {dim} need Y of (n_instances, "
                f"{n_labels}) and embeddings of (n_instances, {dim}), got {Y.shape} and "
                f"{tuple(embeddings.shape)}"
            )
        if self.on_host:
            return self._sums_on_host(embeddings, Y)
        pairs = sp.coo_array(sp.csc_array(Y))  # by label: sums are made in a fixed order
        kept = pairs.data != 0
        rows, labels = pairs.coords[0][kept], pairs.coords[1][kept]
        device, source = self.vectors.device, torch.as_tensor(embeddings)
        sums = torch.zeros_like(self.vectors)  # (n_labels, d)
        for start in range(0, len(rows), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            picked = source[torch.from_numpy(rows[part]).long().to(source.device)]  # (k, d)
            where = torch.from_numpy(labels[part]).long().to(device)  # (k,)
            sums.index_add_(0, where, picked.to(device, torch.float32))
        return sums, np.bincount(labels, minlength=n_labels)

    def _sums_on_host(
        self, embeddings: Tensor | np.ndarray[Any, Any], Y: Sparse
    ) -> tuple[Tensor, np.ndarray[Any, Any]]:
        """The same by a product of matrices, which a CPU does many times as fast."""
        ones = ((Y.data != 0).astype(np.float32), Y.indices, Y.indptr)
        by_label = sp.csr_array(ones, shape=Y.shape).T.tocsr()  # (n_labels, n_instances)
        by_label.eliminate_zeros()
        rows = torch.as_tensor(embeddings).cpu().numpy()
        sums = np.empty(tuple(self.vectors.shape), np.float32)
        for start in range(0, len(sums), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            sums[part] = by_label[part] @ rows
        return torch.from_numpy(sums), np.diff(by_label.indptr).astype(np.int64)


def _means(values: Tensor, groups: Tensor, n_groups: int) -> tuple[Tensor, Tensor]:
    """Mean (n_groups, d) and size (n_groups, 1) of the groups (k,) of values (k, d)."""
    sums = values.new_zeros(n_groups, values.shape[1]).index_add_(0, groups, values)
    ones = values.new_ones(len(values), 1)
    counts = values.new_zeros(n_groups, 1).index_add_(0, groups, ones)
    return sums / counts.clamp(min=1), counts
