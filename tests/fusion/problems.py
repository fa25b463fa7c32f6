"""Lists of members with known strengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.types import Predictions

N_LABELS = 40


def truth(rng: np.random.Generator, n: int) -> Any:
    """Two labels per instance; the first ten are used as often as all others together."""
    frequent, rare = rng.integers(0, 10, n), rng.integers(10, N_LABELS, n)
    rows = np.repeat(np.arange(n), 2)
    columns = np.stack([frequent, rare], axis=1).ravel()
    return sp.csr_array((np.ones(2 * n), (rows, columns)), shape=(n, N_LABELS))


def member(rng: np.random.Generator, Y: Any, skill: Any, *, scale: float = 1.0) -> Predictions:
    """The ten best of noisy scores: true labels get `skill` more, a number or one per label."""
    scores = rng.random(Y.shape) + Y.toarray() * skill
    return Predictions.from_csr(sp.csr_array((scale * scores).astype(np.float32)), 10)


def two_members(n: int, *, seed: int = 0) -> tuple[list[Predictions], Any]:
    """(lists, Y): the first knows frequent labels, the second rare ones, on another scale."""
    rng = np.random.default_rng(seed)
    Y = truth(rng, n)
    is_frequent = np.arange(N_LABELS) < 10
    first = member(rng, Y, np.where(is_frequent, 0.6, 0.0))
    return [first, member(rng, Y, np.where(is_frequent, 0.0, 0.6), scale=50.0)], Y


COUNTS = np.where(np.arange(N_LABELS) < 10, 300, 100)
