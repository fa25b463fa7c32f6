"""Free vectors: learned vectors, each shared by a cluster of labels with similar texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from multitudes.deep.halving import halve_from_host
from multitudes.deep.training import ALONE, World
from multitudes.errors import DataError
from multitudes.labels import build_tree
from multitudes.types import IntArray

MOST_BY_DEFAULT = 1 << 17
"""The largest bank of the paper's Table 10."""


class FreeVectors(nn.Module):
    """A bank of trained vectors and, for each label, which of them it shares.

    Parameters
    ----------
    clusters : int64 array (n_labels,)
        The free vector of each label; see `cluster_labels`.
    n_vectors : int
        Size of the bank.
    dim : int
        Length of the vectors, d.
    random_state : int
        Seed of the initial values, Xavier uniform.
    sparse : bool
        Whether gradients are of the rows that were read alone.
    on_host : bool
        Stay in the host's memory when the network moves to a device; `LabelMemory` trains it.

    Notes
    -----
    By default the gradient is dense. At 65,536 x 384 a fused AdamW step reads and writes some
    700 MB, well under a millisecond of a GPU's memory. Sparse gradients have an Adam of their own,
    which leaves vectors that a batch does not read where they are, moments included: the others it
    moves less, as nothing is left to do for their momentum.
    The bank is to be trained without weight decay (appendix G).
    """

    clusters: Tensor

    def __init__(
        self,
        clusters: npt.NDArray[Any],
        n_vectors: int,
        dim: int,
        *,
        random_state: int = 0,
        sparse: bool = False,
        on_host: bool = False,
    ) -> None:
        super().__init__()
        self.sparse, self.on_host = sparse, on_host
        if len(clusters) and not 0 <= clusters.min() <= clusters.max() < n_vectors:
            raise DataError(
                f"clusters must be from 0 to {n_vectors - 1} for {n_vectors} free vectors, got "
                f"{clusters.min()} to {clusters.max()}"
            )
        self.register_buffer("clusters", torch.from_numpy(clusters.astype(np.int64)))
        self.vectors = nn.Parameter(torch.empty(n_vectors, dim), requires_grad=not on_host)
        generator = torch.Generator().manual_seed(random_state)
        nn.init.xavier_uniform_(self.vectors, generator=generator)

    @classmethod
    def from_label_embeddings(
        cls,
        embeddings: npt.NDArray[Any],
        *,
        n_vectors: int | None = None,
        start: str = "random",
        random_state: int = 0,
        sparse: bool = False,
        on_host: bool = False,
        world: World = ALONE,
    ) -> Self:
        """A bank for labels of these text embeddings (n_labels, d), clustered on the device.

        They start at random, or with ``start="text"`` as the mean embedding of each cluster.
        """
        n_labels, dim = embeddings.shape
        n_vectors = n_vectors or default_number(n_labels)
        clusters = world.array_from_first(
            cluster_labels(embeddings, n_vectors, random_state=random_state, device=world.device)
        )
        bank = cls(
            clusters,
            min(n_vectors, n_labels),
            dim,
            random_state=random_state,
            sparse=sparse,
            on_host=on_host,
        )
        if start == "text":
            bank.start_from(torch.from_numpy(embeddings))
        return bank

    @torch.no_grad()
    def start_from(self, embeddings: Tensor) -> None:
        """Set each vector to the mean of its labels' embeddings (n_labels, d)."""
        sums = torch.zeros_like(self.vectors).index_add_(0, self.clusters, embeddings.float())
        sizes = torch.bincount(self.clusters, minlength=len(sums)).clamp(min=1)  # (n_vectors,)
        self.vectors.copy_(sums / sizes[:, None])  # (n_vectors, d)

    def forward(self, labels: Tensor) -> Tensor:
        """The free vectors (m, d) of some labels (m,)."""
        # Its backward pass adds in a fixed order on a GPU too; that of plain indexing does not.
        rows = self.clusters[labels.to(self.clusters.device)]  # (m,)
        found = functional.embedding(rows, self.vectors, sparse=self.sparse)  # (m, d)
        return found.to(labels.device)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """What `to`, `cuda` and the like do; nothing to a table in the host's memory."""
        return self if self.on_host else super()._apply(fn, recurse)  # type: ignore[no-untyped-call]


def default_number(n_labels: int) -> int:
    """Return how many free vectors to use: the largest power of two up to half the labels.

    At most 131,072, as in the paper's largest setting.

    Examples
    --------
    >>> default_number(131_073), default_number(1_305_265), default_number(3), default_number(1)
    (65536, 131072, 1, 1)
    """
    half = max(n_labels // 2, 1)
    return min(1 << (half.bit_length() - 1), MOST_BY_DEFAULT)


def cluster_labels(
    embeddings: npt.NDArray[Any],
    n_vectors: int,
    *,
    random_state: int = 0,
    device: torch.device | str = "cpu",
) -> IntArray:
    """Clusters of labels by balanced 2-means over their text embeddings.

    Parameters
    ----------
    embeddings : float array (n_labels, d)
        Text embeddings of the labels before training.
    n_vectors : int
        Clusters, a power of two. With as many as labels or more, each label is its own.
    random_state : int
        Chooses the labels each 2-means starts from.
    device : device
        A GPU takes a fraction of a second where a CPU takes seconds; the clusters differ.

    Returns
    -------
    int64 array (n_labels,)
        Cluster ids from 0 to ``min(n_vectors, n_labels) - 1``; sizes differ by at most one.
    """
    n_labels = len(embeddings)
    if n_vectors >= n_labels:
        return np.arange(n_labels, dtype=np.int64)
    # Halving until this size is reached ends at n_vectors leaves, which is a power of two.
    size = -(-n_labels // n_vectors)
    if torch.device(device).type != "cpu":
        order, offsets = halve_from_host(
            torch.from_numpy(embeddings), size=size, random_state=random_state, device=device
        )
        clusters = np.empty(n_labels, np.int64)
        clusters[order.cpu().numpy()] = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        return clusters
    return build_tree(
        embeddings, branching=2, max_leaf_size=size, random_state=random_state
    ).leaf_of_label()
