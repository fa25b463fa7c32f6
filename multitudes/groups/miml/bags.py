"""Bags: groups of instances, handed to a network a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from multitudes.types import FloatArray, IntArray, Sparse

PADDING = -1


class Batch(NamedTuple):
    """Some bags as tensors.

    Parameters
    ----------
    X : Tensor (n_instances, n_features), dense or sparse
        Each instance of the batch once, however many of its bags hold it.
    members : int64 Tensor (n_bags, largest bag)
        Rows of `X` in each bag; -1 is padding.
    counts : Tensor (n_bags, n_labels)
        How often each bag lists a label.
    """

    X: Tensor
    members: Tensor
    counts: Tensor


@dataclass(frozen=True, eq=False)
class Bags:
    """Instances and the bags they are in.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features), float32
    members : CSR (n_bags, n_instances), 0/1
        The instances of each bag: the transpose of `groups`.
    group_labels : CSR (n_bags, n_labels)
        How often each bag lists a label.
    """

    X: Sparse | FloatArray
    members: sp.csr_array[Any]
    group_labels: sp.csr_array[Any]

    def __len__(self) -> int:
        return int(self.members.shape[0])

    @property
    def sizes(self) -> IntArray:
        """Instances of each bag."""
        return np.diff(self.members.indptr).astype(np.int64)

    @property
    def n_listed(self) -> IntArray:
        """Different labels of each bag."""
        return np.diff(self.group_labels.indptr).astype(np.int64)

    def take(self, bags: IntArray) -> Bags:
        """Only some bags, over the same instances."""
        return Bags(self.X, self.members[bags], self.group_labels[bags])

    def batch(self, bags: IntArray, device: torch.device) -> Batch:
        """Some bags, none of them empty, as tensors on a device."""
        chosen = self.members[bags]
        sizes = np.diff(chosen.indptr)
        rows, places = np.unique(chosen.indices, return_inverse=True)
        members = np.full((len(bags), int(sizes.max())), PADDING, np.int64)
        members[np.arange(members.shape[1]) < sizes[:, None]] = places
        return Batch(
            as_tensor(self.X[rows]).to(device),
            torch.from_numpy(members).to(device),
            torch.from_numpy(self.group_labels[bags].toarray()).to(device),
        )


def as_tensor(X: Sparse | FloatArray) -> Tensor:
    """Rows as a float32 tensor, dense or sparse as they are."""
    if isinstance(X, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(X))
    entries = X.tocoo()
    places = torch.from_numpy(np.stack(entries.coords).astype(np.int64))
    values = torch.from_numpy(np.ascontiguousarray(entries.data))
    # scipy has checked the indices, and its rows are sorted.
    return torch.sparse_coo_tensor(
        places, values, X.shape, is_coalesced=True, check_invariants=False
    )
