"""Random small problems, awkward ones among them: empty rows, duplicates, labels of nobody."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from campaigns.framework import SilentChange

Rng = np.random.Generator


class Problem(NamedTuple):
    """Instances, their labels, and further instances to ask about."""

    X: Any  # CSR (n, n_features) float32
    Y: Any  # CSR (n, n_labels) float32
    asked: Any  # CSR (n_asked, n_features) float32


def drawn_problem(rng: Rng, *, n_labels: int | None = None) -> Problem:
    """Draw the sizes, and then what is in them."""
    n, n_features = int(rng.integers(1, 70)), int(rng.integers(1, 40))
    n_labels = int(rng.integers(1, 60)) if n_labels is None else n_labels
    Y = rng.random((n, n_labels)) < rng.choice([0.02, 0.1, 0.5])
    if rng.random() < 0.3:
        Y = np.zeros((n, n_labels), bool)  # one label each
        Y[np.arange(n), rng.integers(0, n_labels, n)] = True
    Y[:, rng.random(n_labels) < rng.choice([0, 0.2])] = False  # labels of nobody
    if not Y.any():
        Y[0, 0] = True
    X = _features(rng, Y, n_features)
    asked = X[rng.integers(0, n, 8)] * rng.choice([0, 1], (8, 1), p=[0.1, 0.9])
    asked = asked + _noise(rng, asked.shape) * rng.choice([0, 1])
    return Problem(*(sp.csr_array(one.astype(np.float32)) for one in (X, Y, asked)))


def _features(rng: Rng, Y: Any, n_features: int) -> Any:
    n, n_labels = Y.shape
    own = rng.random((n_labels, n_features)) * (rng.random((n_labels, n_features)) < 0.3)
    X = Y @ own + _noise(rng, (n, n_features))
    if rng.random() < 0.3:
        X -= 0.5 * (X != 0)  # negative values too
    if rng.random() < 0.3:
        X = np.round(X, 1)  # ties
    X[rng.random(n) < rng.choice([0, 0.2])] = 0  # rows of zeros
    X[rng.integers(0, n, n // 4)] = X[rng.integers(0, n, n // 4)]  # duplicates
    if rng.random() < 0.7:
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-6)
    return X


def _noise(rng: Rng, shape: tuple[int, ...]) -> Any:
    return rng.random(shape) * (rng.random(shape) < rng.choice([0.05, 0.3]))


def drawn_texts(rng: Rng, n: int) -> list[str]:
    """Lines of few words, in several scripts, some of them empty."""
    words = np.array(
        ["ash", "Ash", "oak", "ÖL", "naïve", "日本", "c++", "x", "42", "мир", "a_b", "."]
    )
    return [" ".join(rng.choice(words, rng.integers(0, 9))) for _ in range(n)]


def hold(found: Any, expected: Any, what: str, *, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Raise `SilentChange` if numbers differ by more than is allowed."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    if found.shape != expected.shape:
        raise SilentChange(f"{what}: {found.shape} instead of {expected.shape}")
    if not np.allclose(found, expected, rtol=rtol, atol=atol):
        worst = np.nanargmax(np.abs(found - expected))
        pair = found.ravel()[worst], expected.ravel()[worst]
        raise SilentChange(f"{what}: {pair[0]:.6g} instead of {pair[1]:.6g}")


def by_label(found: Any, n_labels: int) -> Any:
    """Scores (n, n_labels) of predictions that list all labels."""
    if found.labels.shape[1] != n_labels or (found.labels < 0).any():
        raise SilentChange(f"{found.labels.shape[1]} labels are listed of {n_labels}")
    hold(np.sort(found.labels, axis=1), np.tile(np.arange(n_labels), (len(found.labels), 1)), "ids")
    if (np.diff(found.scores, axis=1) > 0).any():
        raise SilentChange("scores do not fall")
    scores = np.empty_like(found.scores)
    np.put_along_axis(scores, found.labels, found.scores, axis=1)
    return scores
