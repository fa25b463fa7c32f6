"""Small learnable problems, and trained levels made dense again."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.kernels.threads import ThreadTeam
from multitudes.linear import SolverConfig
from multitudes.linear.level_labels import everywhere, pattern_of
from multitudes.linear.level_weights import LevelWeights
from multitudes.linear.tasks import TrainingSet
from multitudes.linear.train_level import LevelJob, train_levels
from multitudes.types import Predictions

# Run to convergence, everything kept.
EXACT = SolverConfig(epsilon=1e-5, max_epochs=20_000, threshold=0)


def problem(
    n: int = 120, n_features: int = 30, n_labels: int = 40, random_state: int = 0
) -> tuple[Any, Any]:
    """(X, Y), both CSR: each label has two features that its instances tend to have."""
    rng = np.random.default_rng(random_state)
    Y = rng.random((n, n_labels)) < 3 / n_labels
    Y[np.arange(n), rng.integers(0, n_labels, n)] = True
    own = rng.integers(0, n_features, (n_labels, 2))
    X = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.15)
    for label in range(n_labels):
        X[:, own[label]] += Y[:, [label]] * (0.5 + rng.random((n, 2)))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y.astype(np.float32))


def train_flat(
    X: Any,
    Y: Any,
    solver: SolverConfig = EXACT,
    *,
    weight: Any = None,
    label_weight: Any = None,
    n_jobs: int = 1,
    random_state: int = 0,
) -> LevelWeights:
    """All labels as children of one cluster that every instance teaches."""
    X, Y = sp.csr_array(X), sp.csr_array(Y)
    weight = None if weight is None else np.asarray(weight, np.float32)
    label_weight = None if label_weight is None else np.asarray(label_weight, np.float32)
    with ThreadTeam(n_jobs) as team:
        job = LevelJob(
            TrainingSet.of(X, weight),
            pattern_of(Y),
            everywhere(X.shape[0]).transposed(),
            np.array([0, Y.shape[1]]),
            solver=solver,
            label_weight=label_weight,
            random_state=random_state,
        )
        return train_levels([job], team)[0]


def dense(level: LevelWeights, offsets: Any, n_features: int) -> Any:
    """(n_children, n_features) float32."""
    out = np.zeros((offsets[-1], n_features), np.float32)
    for cluster in range(level.n_clusters):
        first, n_children = offsets[cluster], offsets[cluster + 1] - offsets[cluster]
        chunk = level.chunk(cluster, first, n_children)
        feature = np.repeat(chunk.row_feature, np.diff(chunk.row_entry))
        out[first + chunk.entry_child.astype(int), feature] = chunk.entry_value
    return out


def dense_flat(level: LevelWeights, n_features: int) -> Any:
    """`dense` for a level of one cluster."""
    return dense(level, [0, len(level.bias)], n_features)


def assert_same_levels(left: list[LevelWeights], right: list[LevelWeights]) -> None:
    """Bit for bit."""
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        for name, array in vars(a).items():
            assert array.dtype == vars(b)[name].dtype, name
            np.testing.assert_array_equal(array, vars(b)[name], err_msg=name)


def assert_same_predictions(left: Predictions, right: Predictions) -> None:
    """Bit for bit."""
    np.testing.assert_array_equal(left.labels, right.labels)
    np.testing.assert_array_equal(left.scores, right.scores)
