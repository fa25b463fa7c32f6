"""What a cluster of a trained tree is about: the features that lead to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from multitudes.labels import LabelTree
from multitudes.linear.level_weights import LevelWeights

TOP = 4


def leading_features(
    tree: LabelTree, levels: Sequence[LevelWeights], level: int, cluster: int, *, top: int = TOP
) -> list[int]:
    """Return the features with the largest weights for a cluster in the ranker of its parent.

    Parameters
    ----------
    tree : LabelTree
    levels : sequence of LevelWeights
        From the root down.
    level : int
        The level that the cluster is on; the root, 0, has no parent and no features.
    cluster : int
    top : int
        Features at most; those without a positive weight are never among them.
    """
    if level == 0:
        return []
    offsets = tree.offsets[level - 1]
    parent = int(np.searchsorted(offsets, cluster, side="right")) - 1
    first, last = int(offsets[parent]), int(offsets[parent + 1])
    chunk = levels[level - 1].chunk(parent, first, last - first)
    own = chunk.entry_child == cluster - first
    row = np.repeat(np.arange(len(chunk.row_feature)), np.diff(chunk.row_entry))[own]
    weights = chunk.entry_value[own]
    best = np.argsort(-weights, kind="stable")[:top]
    return [int(chunk.row_feature[row[i]]) for i in best if weights[i] > 0]


def cluster_namer(
    tree: LabelTree, levels: Sequence[LevelWeights], feature_names: Sequence[str]
) -> Callable[[int, int], str]:
    """Return a function that names a cluster (level, cluster) by its leading words."""

    def name(level: int, cluster: int) -> str:
        return ", ".join(feature_names[f] for f in leading_features(tree, levels, level, cluster))

    return name
