"""A tiny model with a right answer: the labels whose mean instance is nearest."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from multitudes.linear.explanation import Explanation, Step
from multitudes.store import State, register
from multitudes.types import Predictions


class Centroids(BaseEstimator):
    def __init__(
        self, *, power: float = 1.0, random_state: int = 0, n_jobs: int | None = None
    ) -> None:
        self.power = power
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, Y: Any) -> Self:
        means = np.asarray((sp.csr_array(Y).T @ X).todense(), np.float32)
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        self.means_ = means / np.maximum(lengths, 1e-9)
        return self

    def predict(self, X: Any, *, top_k: int = 5) -> Predictions:
        scores = np.asarray(X @ self.means_.T) ** self.power
        scores = np.asarray(scores.todense()) if sp.issparse(scores) else scores
        return Predictions.from_csr(sp.csr_array(scores.astype(np.float32)), top_k)

    def explain(self, X: Any, label: int) -> Explanation:
        contributions = X.data * self.means_[label, X.indices]
        order = np.argsort(-contributions)
        margin = float(contributions.sum())
        step = Step(
            tree=0, level=0, cluster=0, child=label,
            features=X.indices[order], contributions=contributions[order],
            bias=0.0, margin=margin, score=margin,
        )  # fmt: skip
        return Explanation(label, margin, (step,))

    def to_state(self) -> State:
        return State("test-centroids", self.get_params(), {"means": self.means_})

    @classmethod
    def from_state(cls, state: State) -> Self:
        model = cls(**state.config)
        model.means_ = state.arrays["means"]
        return model


register("test-centroids", Centroids)

TEXTS = ["red apple fruit", "green apple fruit", "leather belt", "conveyor belt machine"]
LABELS = [["fruit", "red"], ["fruit"], ["clothing"], ["machines"]]
