"""How much a match is worth: what speaks for it, and the weights that make a probability of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from multitudes.kernels.text.name_matching import N_MEASURES
from multitudes.lexical.index import Matches, NameIndex
from multitudes.types import FloatArray

MEASURES = (
    "coverage", "full", "as written", "count", "early", "close", "weight", "words in name",
    "longest", "text length", "inside",
)  # fmt: skip
"""What `multitudes.kernels.text.name_matching` measures of a match."""

EVIDENCE = (*MEASURES, "homonyms", "preferred", "frequency", "was right", "seen")
"""What a probability is made of: see `docs/lexical.md`."""

# Learned on parts of four public sets without what only labeled texts tell, and rounded:
# python -m benchmarks.lexical --constants
CONSTANTS = {
    "coverage": 11.5, "full": -1.8, "as written": 1.3, "count": 0.9, "early": 0.2, "close": 1.8,
    "weight": -0.1, "words in name": 1.8, "longest": 1.1, "text length": -0.6, "homonyms": -1.1,
    "preferred": 0.4, "inside": -1.4,
}  # fmt: skip
BIAS = -12.8
AS_MANY = 20  # matches that the average of all labels counts as, for one label
SMALLEST = 1e-6


@dataclass(frozen=True)
class LabelEvidence:
    """What labeled texts say of each label.

    `n_instances` int64 (n_labels,): texts that have it. `n_matches`, `n_right` int64 (n_labels,):
    texts that name it, and those of them that have it. `n_texts` int: all texts.
    """

    n_instances: npt.NDArray[np.int64]
    n_matches: npt.NDArray[np.int64]
    n_right: npt.NDArray[np.int64]
    n_texts: int

    @classmethod
    def of(cls, by_label: Iterable[npt.NDArray[np.int64]], n_texts: int) -> Self:
        """Return that of the three arrays of `by_label`."""
        n_instances, n_matches, n_right = by_label
        return cls(n_instances, n_matches, n_right, n_texts)

    @classmethod
    def none(cls, n_labels: int) -> Self:
        """Return that of no texts."""
        return cls.of((np.zeros(n_labels, np.int64) for _ in range(3)), 0)

    def by_label(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Return the three arrays with a number for each label."""
        return self.n_instances, self.n_matches, self.n_right

    @cached_property
    def mean(self) -> float:
        """How often a match is right, whatever its label."""
        return float((self.n_right.sum() + 1) / (self.n_matches.sum() + 10))

    def of_new(self, first: int) -> LabelEvidence:
        """Return that of the labels from `first` on alone; the texts are not counted as further."""
        kept = [np.where(np.arange(len(one)) >= first, one, 0) for one in self.by_label()]
        return LabelEvidence.of(kept, 0)

    def plus(self, other: LabelEvidence) -> LabelEvidence:
        """Return both together."""
        return LabelEvidence(
            self.n_instances + other.n_instances,
            self.n_matches + other.n_matches,
            self.n_right + other.n_right,
            self.n_texts + other.n_texts,
        )

    def columns(
        self, labels: npt.NDArray[np.int32], is_right: npt.NDArray[np.bool_] | None = None
    ) -> FloatArray:
        """Return the last three columns of `EVIDENCE` for matches.

        Parameters
        ----------
        labels : int32 array (n_pairs,)
        is_right : bool array (n_pairs,), optional
            Of matches in texts that were counted, which are left out of what is said of them.
        """
        own = np.zeros(len(labels)) if is_right is None else is_right.astype(float)
        one = 0 if is_right is None else 1
        n_right = self.n_right[labels] - own + AS_MANY * self.mean
        share = n_right / np.maximum(self.n_matches[labels] - one + AS_MANY, 1)
        share = np.clip(share, SMALLEST, 1 - SMALLEST)
        n_instances = np.maximum(self.n_instances[labels] - own, 0)
        frequency = np.log1p(n_instances)
        return np.stack([frequency, np.log(share / (1 - share)), n_instances > 0], axis=1).astype(
            np.float32
        )


def evidence_of(
    index: NameIndex,
    matches: Matches,
    of_labels: LabelEvidence,
    is_right: npt.NDArray[np.bool_] | None = None,
) -> FloatArray:
    """Return a float32 array (n_pairs, len(EVIDENCE)); see `LabelEvidence.columns`."""
    found = np.empty((len(matches.rows), len(EVIDENCE)), np.float32)
    found[:, :N_MEASURES] = matches.measures
    found[:, N_MEASURES] = index.homonyms[matches.names]
    found[:, N_MEASURES + 1] = index.preferred[matches.names]
    found[:, N_MEASURES + 2 :] = of_labels.columns(matches.labels, is_right)
    return found


@dataclass(frozen=True)
class MatchWeights:
    """A logistic regression over `EVIDENCE`: `weights` float64 (len(EVIDENCE),), `bias` float."""

    weights: npt.NDArray[np.float64]
    bias: float

    @classmethod
    def constant(cls) -> Self:
        """Return weights for labels of which nothing but names is known."""
        return cls(np.array([CONSTANTS.get(name, 0.0) for name in EVIDENCE]), BIAS)

    @classmethod
    def learned(cls, evidence: FloatArray, is_right: npt.NDArray[np.bool_]) -> Self:
        """Learn from matches, and whether their labels were right; both must occur."""
        from sklearn.linear_model import LogisticRegression

        mean, spread = evidence.mean(axis=0, dtype=np.float64), evidence.std(axis=0)
        spread = np.where(spread > SMALLEST, spread, np.inf)  # what is always alike says nothing
        scaled = evidence - mean
        scaled /= spread
        model: Any = LogisticRegression(C=1.0, max_iter=200)
        model.fit(scaled, is_right)
        weights = model.coef_[0] / spread
        return cls(weights, float(model.intercept_[0] - weights @ mean))

    def probabilities(self, evidence: FloatArray) -> FloatArray:
        """Return the probability (n_pairs,) that each match is right."""
        odds = np.full(len(evidence), self.bias)
        for column, weight in zip(evidence.T, self.weights, strict=True):
            odds += column * weight  # not a matrix product: a batch must equal its single rows
        odds = np.clip(odds, -30, 30)
        return np.asarray(1 / (1 + np.exp(-odds)), np.float32)
