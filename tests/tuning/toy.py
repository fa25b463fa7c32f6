"""A model whose best settings are known, that learns in a moment, and fails when told to."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from multitudes import Dataset, Tagger
from multitudes.config import Search, among, between
from multitudes.types import Predictions

N_LABELS = 20


class Toy(BaseEstimator):
    """Labels by the features they came with; a share `spoil` of the instances gets wrong ones.

    Parameters
    ----------
    spoil : float
        The smaller, the better: what the search has to find out.
    flavor : str
        Makes no difference.
    seconds : float
        What learning takes.
    """

    search_space: ClassVar[dict[str, Search]] = {
        "spoil": between(0.0, 0.9),
        "flavor": among("sweet", "sour"),
    }
    before_fit: ClassVar[Callable[[Toy, int], None] | None] = None

    def __init__(self, *, spoil: float = 0.6, flavor: str = "sweet", seconds: float = 0.0) -> None:
        self.spoil = spoil
        self.flavor = flavor
        self.seconds = seconds

    def fit(self, X: Any, y: Any) -> Toy:
        if type(self).before_fit is not None:
            type(self).before_fit(self, X.shape[0])
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            time.sleep(0.005)
        self.weights_ = sp.csr_array(X.T @ y)
        return self

    def predict(self, X: Any, *, top_k: int = 5) -> Predictions:
        scores = (X @ self.weights_).toarray()
        rows = np.random.default_rng(0).permutation(len(scores))[: int(self.spoil * len(scores))]
        scores[rows] *= -1
        order = np.argsort(-scores, axis=1, kind="stable")[:, :top_k]
        return Predictions(order, np.take_along_axis(scores, order, axis=1), scores.shape[1])


def toy_data(n: int = 600, *, seed: int = 0) -> Dataset:
    """Instances with two labels each, whose features say which."""
    rng = np.random.default_rng(seed)
    labels = np.stack([rng.permutation(N_LABELS)[:2] for _ in range(n)])
    Y = sp.csr_array(
        (np.ones(2 * n), (np.repeat(np.arange(n), 2), labels.ravel())), shape=(n, N_LABELS)
    )
    names = [f"label {i}" for i in range(N_LABELS)]
    return Dataset(X=Y.copy(), Y=Y, label_names=names)


def toy_tagger(**settings: Any) -> Tagger:
    return Tagger(Toy(), settings=settings or None)
