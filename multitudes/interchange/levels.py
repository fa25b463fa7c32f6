"""From single weights to the levels of a tree, in the layout that training makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from multitudes.errors import StoreError
from multitudes.labels import LabelTree
from multitudes.linear import XRLinear
from multitudes.linear.level_weights import LevelWeights, ends
from multitudes.types import FloatArray, IntArray

# Instances assumed behind each cluster: no folder says how many there were. A later `partial_fit`
# holds on to the imported weights as if they had been learned from so many.
SEEN = 1000
# Margins whose scores are 1 and 0 in float32, by any rule.
SURE, NEVER = np.float32(1000), np.float32(-1000)


class Weights(NamedTuple):
    """Weights of the children of some clusters, entry by entry.

    Parameters
    ----------
    feature, child : int64 array (n_entries,)
        `child` is counted within its cluster.
    value : float32 array (n_entries,)
    bias : float32 array (n_children,)
    """

    feature: IntArray
    child: IntArray
    value: FloatArray
    bias: FloatArray


def joined(parts: Sequence[Weights]) -> Weights:
    """Join the weights of clusters that follow each other."""
    return Weights(*(np.concatenate(field) for field in zip(*parts, strict=True)))


def level_of(
    weights: Weights, cluster: IntArray, *, n_clusters: int, n_features: int, source: object
) -> LevelWeights:
    """Return a level, checked and in order.

    Parameters
    ----------
    weights : Weights
        Of the children of all clusters, one cluster after the other.
    cluster : int64 array (n_entries,)
        The cluster of each entry.
    source : what an error names
    """
    _check(weights, n_features, source)
    used = np.flatnonzero(weights.value)
    feature, child, value = weights.feature[used], weights.child[used], weights.value[used]
    row = cluster[used] * n_features + feature
    order = np.lexsort((child, row))
    row, feature, child, value = row[order], feature[order], child[order], value[order]
    new_row = np.ones(len(row), bool)
    new_row[1:] = row[1:] != row[:-1]
    if np.any(~new_row[1:] & (child[1:] == child[:-1])):
        raise StoreError(f"{source} holds a weight twice: save the model again")
    starts = np.flatnonzero(new_row)
    largest = int(child.max(initial=0))
    return LevelWeights(
        chunk_row=ends(np.bincount(row[starts] // n_features, minlength=n_clusters)),
        row_feature=feature[starts].astype(np.int32),
        row_entry=ends(np.diff(np.append(starts, len(row)))),
        entry_child=child.astype(np.uint16 if largest < 1 << 16 else np.uint32),
        entry_value=value,
        bias=weights.bias,
        scale=np.ones(len(weights.bias), np.float32),
        seen=np.full(n_clusters, SEEN, np.int64),
    )


def fitted_tree(
    offsets: list[IntArray],
    slots: IntArray,
    levels: list[LevelWeights],
    *,
    n_labels: int,
    n_features: int,
    beam_width: int,
    score_function: str,
) -> XRLinear:
    """Return the model of a tree and its levels, as `fit` would have left it.

    Labels that are in no leaf, `slots` lacks them, are put into one that is never reached.
    """
    missing = np.setdiff1d(np.arange(n_labels), slots)
    if len(missing):
        offsets, levels = with_attic(offsets, levels, len(missing))
    slots = np.concatenate([slots, missing])
    tree = LabelTree(tuple(offsets), slots.astype(np.int32), n_labels)
    model = XRLinear(
        branching=max((int(np.diff(own).max()) for own in tree.offsets[:-1]), default=2),
        max_leaf_size=int(np.diff(tree.offsets[-1]).max()),
        beam_width=beam_width,
        score_function=score_function,
        weights="float32",
    )
    model._set_learned(tree, levels, n_features)
    return model


def with_attic(
    offsets: list[IntArray], levels: list[LevelWeights], n_labels: int
) -> tuple[list[IntArray], list[LevelWeights]]:
    """Return the tree with a last leaf for labels that the model does not know.

    A `LabelTree` holds every label. These come after all others, with a score of 0, so the numbers
    of the other labels stay what they were.
    """
    if len(offsets) == 1:  # a leaf alone: put a root above it
        offsets, levels = [ends([1]), *offsets], [_passing(1), *levels]
    last = len(offsets) - 1
    new_offsets, new_levels = [], []
    for number, (own, level) in enumerate(zip(offsets, levels, strict=True)):
        is_root, n_new = number == 0, n_labels if number == last else 1
        until = own[-1] + n_new
        new_offsets.append(np.append(own[:-1] if is_root else own, until))
        margin = NEVER if is_root or number == last else SURE
        n_clusters = 0 if is_root else 1
        new_levels.append(
            replace(
                level,
                chunk_row=level.chunk_row
                if is_root
                else np.append(level.chunk_row, level.chunk_row[-1]),
                bias=np.append(level.bias, np.full(n_new, margin)),
                scale=np.append(level.scale, np.ones(n_new, np.float32)),
                seen=np.append(level.seen, np.full(n_clusters, SEEN)),
            )
        )
    return new_offsets, new_levels


def _passing(n_clusters: int) -> LevelWeights:
    """Return a level of clusters with a single child of score 1."""
    nothing = np.zeros(0, np.int64)
    weights = Weights(nothing, nothing, np.zeros(0, np.float32), np.full(n_clusters, SURE))
    return level_of(weights, nothing, n_clusters=n_clusters, n_features=1, source="")


def _check(weights: Weights, n_features: int, source: object) -> None:
    feature = weights.feature
    if len(feature) and not 0 <= int(feature.min()) <= int(feature.max()) < n_features:
        raise StoreError(
            f"{source} has a weight of feature {int(feature.max()):,}, expected features from 0 "
            f"to {n_features - 1:,}: save the model again"
        )
    if not (np.isfinite(weights.value).all() and np.isfinite(weights.bias).all()):
        raise StoreError(f"{source} holds weights that are not finite: save the model again")
