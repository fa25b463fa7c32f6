"""X, groups and group labels checked once at the door, and made bags."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data.groups import GroupCounts
from multitudes.errors import DataError
from multitudes.groups.candidates import checked_candidates
from multitudes.groups.miml.bags import Bags
from multitudes.types import FloatArray, Sparse
from multitudes.validation import checked_features


def checked_rows(X: Any, *, n_features: int | None = None) -> Sparse | FloatArray:
    """X in float32, all numbers finite; sparse stays sparse, dense stays dense.

    Parameters
    ----------
    X : CSR, other sparse matrix, or array (n_instances, n_features)
    n_features : int, optional
        What a fitted model expects.
    """
    rows = checked_features(X, n_features=n_features)
    return rows if sp.issparse(X) else rows.toarray()


def checked_bags(X: Sparse | FloatArray, groups: Any, group_labels: Any) -> Bags:
    """All groups as bags, empty ones too.

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
    """Refuse infinite counts before they are made whole numbers, where they become anything."""
    is_sparse: bool = sp.issparse(group_labels)
    if not is_sparse or group_labels.dtype.kind != "f":
        return
    counts = sp.csr_array(group_labels)
    infinite = np.isinf(counts.data)
    if infinite.any():
        at = int(np.argmax(infinite))
        row = int(np.searchsorted(counts.indptr, at, side="right")) - 1
        raise DataError(
            "group_labels must hold how many instances of a group have a label, whole numbers "
            f">= 0, got {counts.data[at]:g} for group {row} and label {counts.indices[at]}"
        )


def unlabeled_bags(X: Sparse | FloatArray, groups: Any, n_labels: int) -> Bags:
    """Bags to predict: as `checked_bags`, none of them with labels."""
    is_sparse: bool = sp.issparse(groups)  # anything else but None is refused below
    n_groups = int(groups.shape[1] if is_sparse else X.shape[0])
    return checked_bags(X, groups, sp.csr_array((n_groups, n_labels), dtype=np.float32))


def bags_to_learn_from(
    X: Sparse | FloatArray, groups: Any, group_labels: Any, *, needs_labels: bool
) -> tuple[Bags, GroupCounts]:
    """The bags that teach something, and what there was in all.

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
