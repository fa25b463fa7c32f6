"""Groups of instances as matrices: make them at random, merge their labels, check them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.types import IntArray, Sparse

if TYPE_CHECKING:
    from multitudes.data.dataset import Dataset


def random_groups(
    n_instances: int, size: int, *, random_state: int | np.random.Generator = 0
) -> sp.csr_array[Any]:
    """Deal instances into groups of one size at random, each instance into one group.

    Parameters
    ----------
    n_instances : int
        Number of instances.
    size : int
        Instances per group. Where it does not divide `n_instances` the last group is smaller.
    random_state : int or numpy Generator
        Same seed, same groups.

    Returns
    -------
    csr_array (n_instances, n_groups), float32
        1 where an instance is in a group.

    Examples
    --------
    >>> random_groups(10, 4, random_state=0).sum(axis=0)
    array([4., 4., 2.], dtype=float32)
    """
    for name, value in (("n_instances", n_instances), ("size", size)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ConfigError(f"{name} must be a whole number >= 1, got {value!r}")
    group_of = np.empty(n_instances, np.int64)
    group_of[np.random.default_rng(random_state).permutation(n_instances)] = (
        np.arange(n_instances) // size
    )
    return memberships(group_of, -(-n_instances // size))


def memberships(group_of: IntArray, n_groups: int) -> sp.csr_array[Any]:
    """Groups as a matrix (n_instances, n_groups), from the one group of each instance."""
    n = len(group_of)
    parts: Any = (np.ones(n, np.float32), group_of.astype(np.int32), np.arange(n + 1))
    return sp.csr_array(parts, shape=(n, n_groups))


def merge_labels(Y: Sparse, groups: Sparse, *, as_counts: bool = True) -> sp.csr_array[Any]:
    """The labels of each group: all labels of its members.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
        Labels of the instances; non-zero is 1.
    groups : CSR (n_instances, n_groups)
        Non-zero where an instance is in a group.
    as_counts : bool
        Count how many members carry a label (a list merge, as in the paper), or hold 1 for a
        label that any of them carries (a set merge).

    Returns
    -------
    csr_array (n_groups, n_labels), float32
        Sorted indices; a group without labels, or without members, has an empty row.

    References
    ----------
    Shen et al., Extreme Multi-label Classification from Aggregated Labels, ICML 2020, appendix B.2.
    """
    if Y.shape[0] != groups.shape[0]:
        raise DataError(
            f"Y has {Y.shape[0]:,} rows and groups has {groups.shape[0]:,}: they must describe "
            "the same instances"
        )
    merged: sp.csr_array[Any] = (_ones(groups).T @ _ones(Y)).tocsr()
    merged.sort_indices()
    if not as_counts:
        merged.data.fill(1)
    return merged


def without_groups_of(dataset: Dataset, other: Dataset) -> Dataset:
    """A part of a Dataset without the groups that another part of it has instances of.

    After a split by group: `Dataset.take` keeps all groups, also those left without instances.
    """
    if dataset.groups is None or other.groups is None:
        return dataset
    kept = np.flatnonzero(np.bincount(other.groups.indices, minlength=other.groups.shape[1]) == 0)
    labels, names = dataset.group_labels, dataset.group_names
    return dataclasses.replace(
        dataset,
        groups=dataset.groups[:, kept],
        group_labels=None if labels is None else labels[kept],
        group_names=None if names is None else [names[group] for group in kept.tolist()],
    )


def check_groups(groups: Sparse | None, group_labels: Sparse | None) -> None:
    """Refuse memberships other than 0 and 1, and counts that are no whole numbers >= 0.

    Parameters
    ----------
    groups : CSR (n_instances, n_groups), optional
    group_labels : CSR (n_groups, n_labels), optional
    """
    if groups is not None:
        bad = (groups.data != 0) & (groups.data != 1)
        if bad.any():
            row, column, value = _first(groups, bad)
            raise DataError(
                f"groups must hold 1 where an instance is in a group, got {value:g} for instance "
                f"{row} and group {column}"
            )
    if group_labels is not None:
        counts = group_labels.data
        bad = (counts < 0) | (counts != np.rint(counts)) | np.isinf(counts)
        if bad.any():
            row, column, value = _first(group_labels, bad)
            raise DataError(
                "group_labels must hold how many instances of a group have a label, whole numbers "
                f">= 0, got {value:g} for group {row} and label {column}: write 1 where only the "
                "set of labels is known"
            )


def _first(matrix: Sparse, marked: npt.NDArray[np.bool_]) -> tuple[int, int, float]:
    """(row, column, value) of the first marked entry of a CSR matrix."""
    at = int(np.argmax(marked))
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    return row, int(matrix.indices[at]), float(matrix.data[at])


def _ones(matrix: Sparse) -> Sparse:
    """The pattern of a matrix: 1 where it is not 0, float32."""
    pattern = sp.csr_array(matrix, dtype=np.float32, copy=True)
    pattern.sum_duplicates()
    pattern.eliminate_zeros()
    pattern.data.fill(1)
    return pattern
