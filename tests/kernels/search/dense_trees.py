"""Small trees with known dense weights, for the tests of the index and the search.

Weights, biases and features are small whole numbers, so that every sum is exact in float32
whatever its order: a kernel must find the very same scores as its twin, and ties are many.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from multitudes.labels import LabelTree
from multitudes.linear.level_weights import Chunk, LevelWeights, ends
from tests.kernels.twins import trees as reference


class DenseTree(NamedTuple):
    """A tree and its weights twice: dense, and as training makes them."""

    tree: LabelTree
    dense: list[reference.Level]
    levels: list[LevelWeights]
    n_features: int


def dense_tree(
    sizes: list[list[int]],
    n_features: int = 40,
    *,
    seed: int = 0,
    density: float = 0.3,
    stored: type[np.generic] = np.float32,
    slots: list[int] | None = None,
) -> DenseTree:
    """Random weights for a tree whose clusters of each level have the given numbers of children."""
    rng = np.random.default_rng(seed)
    offsets = tuple(ends(own) for own in sizes)
    n_slots = int(offsets[-1][-1])
    labels = np.array(sorted_in_leaves(rng.permutation(n_slots), offsets[-1]))
    labels = labels if slots is None else np.array(slots)
    tree = LabelTree(offsets, labels.astype(np.int32), int(labels.max()) + 1)
    dense, levels = [], []
    for own in offsets:
        weights = rng.integers(-3, 4, (own[-1], n_features)) * 1.0
        # Features differ in how many children have them, so that chunks hold long and short rows.
        share = density * 4 * rng.random(n_features) ** 3
        weights *= rng.random(weights.shape) < share
        bias = rng.integers(-1, 2, own[-1]).astype(np.float32)
        dense.append(reference.Level(own, weights.astype(np.float32), bias))
        levels.append(level_weights(dense[-1], stored))
    return DenseTree(tree, dense, levels, n_features)


def sorted_in_leaves(labels: Any, offsets: Any) -> list[int]:
    """The labels of each leaf in ascending order."""
    return [
        int(label) for start, stop in pairwise(offsets) for label in np.sort(labels[start:stop])
    ]


def level_weights(level: reference.Level, stored: type[np.generic]) -> LevelWeights:
    """A dense level as training makes it; int8 in units of 1/4, so that scales differ from 1."""
    chunks = []
    for start, stop in pairwise(level.offsets):
        kept = reference.kept_weights(
            level.weights[start:stop], np.arange(level.weights.shape[1]), np.zeros(stop - start), 0
        )
        entries = [pair for row in kept.values() for pair in row]
        chunks.append(
            Chunk(
                np.array(list(kept), np.int32),
                ends([len(row) for row in kept.values()]),
                np.array([child for child, _ in entries], np.int32),
                np.array([value for _, value in entries], np.float32),
                level.bias[start:stop],
            )
        )
    joined = LevelWeights.from_chunks(chunks, np.ones(len(chunks), np.int64))
    unit = 0.25 if stored is np.int8 else 1.0
    return LevelWeights(
        **{
            **vars(joined),
            "entry_value": (joined.entry_value / unit).astype(stored),
            "scale": np.full_like(joined.bias, unit),
        }
    )


def whole_instances(n: int, n_features: int, seed: int = 0, density: float = 0.2) -> Any:
    """Dense instances of small whole numbers, the first of them empty."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, n_features)) * (rng.random((n, n_features)) < density)
    X[:1] = 0
    return X.astype(np.float32)


SHAPES: dict[str, dict[str, Any]] = {
    "one cluster": {"sizes": [[20]]},
    "one label": {"sizes": [[1]]},
    "two levels": {"sizes": [[4], [3, 16, 17, 1]]},
    "three levels": {"sizes": [[3], [2, 5, 3], [4] * 10]},
    "empty leaves": {"sizes": [[4], [3, 0, 5, 0]]},
    "many children": {"sizes": [[40], [33] * 40]},
    "dense": {"sizes": [[4], [8] * 4], "density": 1.0},
    "sparse": {"sizes": [[2], [200, 90]], "density": 0.02, "n_features": 300},
    "mixed": {"sizes": [[2], [200, 90]], "density": 0.1, "n_features": 60},
    "nothing kept": {"sizes": [[3], [5, 6, 7]], "density": 0.0},
    "one feature": {"sizes": [[3], [5, 6, 7]], "n_features": 1},
    "overlap": {"sizes": [[3], [3, 3, 3]], "slots": [0, 1, 2, 1, 3, 4, 0, 1, 4]},
}
