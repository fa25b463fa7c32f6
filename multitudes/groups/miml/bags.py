"""Bags: groups of instances, checked, and handed to a network a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from multitudes.data.groups import GroupCounts
from multitudes.errors import DataError
from multitudes.groups.candidates import checked_candidates
from multitudes.types import FloatArray, IntArray, Sparse
from multitudes.validation import checked_features, checked_sparse
from multitudes.validation.sparse import own_csr

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
        """The number of instances of each bag."""
        return np.diff(self.members.indptr).astype(np.int64)

    @property
    def n_listed(self) -> IntArray:
        """The number of different labels of each bag."""
        return np.diff(self.group_labels.indptr).astype(np.int64)

    def take(self, bags: IntArray) -> Bags:
        """Return some of the bags, over the same instances."""
        return Bags(self.X, self.members[bags], self.group_labels[bags])

    def batch(self, bags: IntArray, device: torch.device) -> Batch:
        """Return some bags, none of them empty, as tensors on a device."""
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
    """Return rows as a float32 tensor, dense or sparse as they are."""
    if isinstance(X, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(X))
    entries = X.tocoo()
    places = torch.from_numpy(np.stack(entries.coords).astype(np.int64))
    values = torch.from_numpy(np.ascontiguousarray(entries.data))
    # scipy has checked the indices, and its rows are sorted.
    return torch.sparse_coo_tensor(
        places, values, X.shape, is_coalesced=True, check_invariants=False
    )


def checked_rows(X: Any, *, n_features: int | None = None) -> Sparse | FloatArray:
    """Return X in float32, all numbers finite; sparse stays sparse, dense stays dense.

    Parameters
    ----------
    X : CSR, other sparse matrix, or array (n_instances, n_features)
    n_features : int, optional
        What a fitted model expects.
    """
    rows = checked_features(X, n_features=n_features)
    return rows if sp.issparse(X) else rows.toarray()


def checked_bags(X: Sparse | FloatArray, groups: Any, group_labels: Any) -> Bags:
    """Return all groups as bags, even empty ones.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features)
        Already checked.
    groups : CSR (n_instances, n_groups) or None
        None is a group for each instance.
    group_labels : CSR (n_groups, n_labels)
    """
    n_instances = int(X.shape[0])
    check_finite_counts(group_labels)
    if groups is None:
        groups = sp.csr_array(sp.eye_array(n_instances, dtype=np.float32))
    found = checked_candidates(groups, group_labels, n_instances=n_instances)
    ones = np.ones(len(found.members), np.float32)
    counts = found.pair_count.astype(np.float32)
    listed = sp.csc_array(
        (counts, found.pair_group, found.label_indptr), shape=(found.n_groups, found.n_labels)
    )
    members = sp.csr_array(
        (ones, found.members, found.group_indptr), shape=(found.n_groups, n_instances)
    )
    return Bags(X, members, listed.tocsr())


def check_finite_counts(group_labels: Any) -> None:
    """Refuse infinite counts, which would become arbitrary whole numbers."""
    is_sparse: bool = sp.issparse(group_labels)
    if not is_sparse or group_labels.dtype.kind != "f":
        return
    counts = own_csr(group_labels, "group_labels")
    infinite = np.isinf(counts.data)
    if infinite.any():
        at = int(np.argmax(infinite))
        row = int(np.searchsorted(counts.indptr, at, side="right")) - 1
        raise DataError(
            "group_labels must hold how many instances of a group have a label, whole numbers "
            f">= 0, got {counts.data[at]:g} for group {row} and label {counts.indices[at]}"
        )


def unlabeled_bags(X: Sparse | FloatArray, groups: Any, n_labels: int) -> Bags:
    """Return bags to predict: as `checked_bags`, without labels."""
    if groups is not None:
        groups = checked_sparse(groups, name="groups", axes="(n_instances, n_groups)")
    n_groups = int(X.shape[0] if groups is None else groups.shape[1])
    return checked_bags(X, groups, sp.csr_array((n_groups, n_labels), dtype=np.float32))


def bags_to_learn_from(
    X: Sparse | FloatArray, groups: Any, group_labels: Any, *, needs_labels: bool
) -> tuple[Bags, GroupCounts]:
    """Return the bags that can be learned from, and the counts of all.

    Groups without instances are left out and, where the loss needs labels, those without any.
    """
    bags = checked_bags(X, groups, group_labels)
    counts = GroupCounts.of(sp.csr_array(bags.members.T), bags.group_labels)
    if counts.listed == counts.empty_listed:
        raise DataError(
            f"none of the {counts.groups:,} groups has both instances and labels "
            f"({counts.empty:,} have no instances, {counts.unlabeled:,} no labels): there is "
            "nothing to learn from"
        )
    useful = bags.sizes > 0
    if needs_labels:
        useful &= bags.n_listed > 0
    return (bags if useful.all() else bags.take(np.flatnonzero(useful))), counts
