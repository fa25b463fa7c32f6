"""Fuse labels on purpose, to study how well their senses are told apart again (section 5.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from multitudes.disentangle.inputs import checked_pattern
from multitudes.errors import ConfigError, DataError, suggestion
from multitudes.labels import build_tree
from multitudes.types import IntArray
from multitudes.validation import checked_count, checked_vectors

Mode = Literal["easy", "medium", "hard"]

MEDIUM_WIDTH = 32
"""Fused labels that share a group of similar labels in the medium mode."""


@dataclass(frozen=True, eq=False)
class Entangled:
    """Labels fused into fewer, and which label went where.

    Parameters
    ----------
    Y : csr_array (n_instances, n_fused), float32
        1 where an instance has at least one of the labels behind a fused label.
    fused_of_label : int64 array (n_labels,)
        The fused label of each label. Fused labels are numbered by their smallest label.
    """

    Y: sp.csr_array[Any]
    fused_of_label: IntArray

    @property
    def n_fused(self) -> int:
        """The number of fused labels."""
        return int(self.Y.shape[1])

    def members(self, fused: int) -> IntArray:
        """Return the labels behind a fused label, ascending."""
        if not 0 <= fused < self.n_fused:
            raise DataError(f"fused must be an id from 0 to {self.n_fused - 1}, got {fused!r}")
        return np.flatnonzero(self.fused_of_label == fused)


def entangle(
    Y: Any,
    label_embeddings: Any,
    k: int,
    mode: Mode,
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Entangled:
    """Fuse every k labels into one: ceil(n_labels / k) labels are left.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
        Labels; non-zero is 1.
    label_embeddings : CSR or float array (n_labels, n_features), or None
        Says which labels are alike, e.g. from `multitudes.labels.pifa`. Not used in the hard mode.
    k : int, at least 1
        Labels behind a fused label. Where n_labels is not a multiple of k some have fewer; in the
        medium mode, in which every group of similar labels is divided by itself, some may then
        have one more.
    mode : {"easy", "medium", "hard"}
        easy: the most similar labels, by balanced k-means into ceil(n_labels / k) clusters;
        medium: random labels within balanced clusters of 32 k; hard: random labels.
    random_state : int
        Of clustering and chance. Same seed, same result, whatever `n_jobs`.
    n_jobs : int, optional
        For the clustering; all cores by default.

    References
    ----------
    Liu et al., Label Disentanglement in Partition-based Extreme Multilabel Classification, 2021,
    section 5.1.
    """
    Y = checked_pattern(Y, "Y", "(n_instances, n_labels)")
    n_labels = Y.shape[1]
    k, random_state = checked_count(k, "k"), checked_count(random_state, "random_state", at_least=0)
    if k > n_labels:
        raise ConfigError(f"k must be at most the number of labels ({n_labels:,}), got {k}")
    if mode not in get_args(Mode):
        raise ConfigError(f"unknown mode {mode!r}: {suggestion(str(mode), get_args(Mode))}")
    if mode != "hard":
        label_embeddings = _checked_embeddings(label_embeddings, n_labels)
    rng = np.random.default_rng(random_state)
    n_fused = math.ceil(n_labels / k)
    if mode == "easy":
        groups = _similar(label_embeddings, k, random_state, n_jobs)
    elif mode == "medium":
        wide = _similar(label_embeddings, MEDIUM_WIDTH * k, random_state, n_jobs)
        groups = _divided([rng.permutation(group) for group in wide], n_fused)
    else:
        groups = _divided([rng.permutation(n_labels)], n_fused)
    fused_of_label = _numbered(groups, n_labels)
    return Entangled(_fused_labels(Y, fused_of_label), fused_of_label)


def _checked_embeddings(embeddings: Any, n_labels: int) -> Any:
    shape = getattr(embeddings, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != n_labels:
        got = type(embeddings).__name__ if shape is None else f"shape {shape}"
        raise DataError(
            f"label_embeddings must be a (n_labels, n_features) matrix with {n_labels:,} rows, as "
            f"Y has columns, got {got}: only mode 'hard' works without"
        )
    return checked_vectors(embeddings, name="label_embeddings")


def _similar(embeddings: Any, size: int, random_state: int, n_jobs: int | None) -> list[IntArray]:
    """Balanced clusters of at most `size` labels, as few as possible; sizes differ by at most 1."""
    n_groups = math.ceil(embeddings.shape[0] / size)
    # With this branching the tree has one level of leaves, and not a power of two of them.
    branching = n_groups + 1 if n_groups & (n_groups - 1) == 0 else n_groups
    tree = build_tree(
        embeddings,
        branching=max(branching, 3),
        max_leaf_size=size,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return [tree.labels_of_leaf(leaf).astype(np.int64) for leaf in range(tree.n_leaves)]


def _divided(groups: list[IntArray], n_parts: int) -> list[IntArray]:
    """Each group in even parts, in proportion to its size, `n_parts` of them in all."""
    ends = np.cumsum([0, *map(len, groups)])
    bounds = np.rint(ends * n_parts / ends[-1]).astype(np.int64)
    parts: list[IntArray] = []
    for group, n in zip(groups, np.diff(bounds).tolist(), strict=True):
        parts.extend(np.array_split(group, n))
    return parts


def _numbered(groups: list[IntArray], n_labels: int) -> IntArray:
    """The group of each label; groups are numbered by their smallest label."""
    fused = np.empty(n_labels, np.int64)
    for number, group in enumerate(sorted(groups, key=lambda group: int(group.min()))):
        fused[group] = number
    return fused


def _fused_labels(Y: Any, fused_of_label: IntArray) -> sp.csr_array[Any]:
    """Y with the columns of fused labels joined, 0/1."""
    n_fused = int(fused_of_label.max()) + 1
    out: sp.csr_array[Any] = sp.csr_array(
        (Y.data.copy(), fused_of_label[Y.indices].astype(np.int32), Y.indptr.copy()),
        shape=(Y.shape[0], n_fused),
    )
    out.sum_duplicates()
    out.data.fill(1)
    return out
