"""The shared core of evaluation: which predictions hit a true label, and at which rank.

Hits are found once and kept sparse (there are never more of them than true labels); every metric
at k is then a weighted sum over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError
from multitudes.metrics.inputs import (
    PredictionsLike,
    TruthLike,
    label_space,
    ranked_labels,
    repeated,
    truth_matrix,
)
from multitudes.metrics.names import by_id
from multitudes.types import LabelArray, Predictions, Sparse

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Matches:
    """Predictions held against the truth.

    Parameters
    ----------
    labels : int32 array (n_instances, width)
        Predicted labels, best first, -1 where missing.
    truth : CSR (n_instances, n_labels)
        Stored where a label is true.
    hit_row, hit_rank : int32 arrays (n_hits,)
        Instance and rank (0 is best) of each hit, ordered by instance, then rank.
    """

    labels: LabelArray
    truth: Sparse
    hit_row: npt.NDArray[np.int32]
    hit_rank: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    @property
    def n_labels(self) -> int:
        """Size of the label space."""
        return int(self.truth.shape[1])

    @cached_property
    def n_true(self) -> npt.NDArray[np.int64]:
        """Number of true labels of each instance, (n_instances,)."""
        return np.asarray(np.diff(self.truth.indptr), np.int64)

    @cached_property
    def hit_label(self) -> LabelArray:
        """Label of each hit, (n_hits,)."""
        return self.labels[self.hit_row, self.hit_rank]

    @cached_property
    def ones(self) -> Values:
        """1 for each instance: the denominator of a plain mean."""
        return np.ones(len(self))

    def gain(self, k: int, weights: Values | None = None) -> Values:
        """Sum of `weights` (one per hit; None: 1) over the hits among the best k, per instance."""
        kept = self.hit_rank < k
        chosen = None if weights is None else weights[kept]
        return np.bincount(self.hit_row[kept], chosen, minlength=len(self)).astype(np.float64)

    def take(self, rows: npt.NDArray[np.int64]) -> Matches:
        """Return only the instances `rows`, rising ids."""
        place = np.full(len(self), -1, np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        kept = place[self.hit_row] >= 0
        row, rank = place[self.hit_row[kept]], self.hit_rank[kept]
        return Matches(self.labels[rows], self.truth[rows], row, rank)


def match(
    predictions: PredictionsLike,
    truth: TruthLike,
    *,
    top_k: int,
    weights: Any = None,
    skip_empty: bool = False,
) -> Matches:
    """Hold the best `top_k` predictions of each instance against its true labels.

    Parameters
    ----------
    predictions, truth
        See `multitudes.metrics.inputs` and `multitudes.metrics.names`.
    top_k : int
        Ranks looked at.
    weights : array (n_labels,), optional
        Anything with one entry per label; its length must agree with the label space.
    skip_empty : bool
        Leave out the instances without a true label.
    """
    predictions, truth = by_id(predictions, truth, weights)
    n_labels = label_space(predictions, truth, weights)
    Y = truth_matrix(truth, n_labels=n_labels)
    labels = ranked_labels(predictions, top_k=top_k, n_labels=n_labels)
    if len(labels) != Y.shape[0]:
        raise DataError(
            f"predictions have {len(labels)} instances and the truth {Y.shape[0]}: "
            "they must be the same instances in the same order"
        )
    if len(labels) == 0:
        raise DataError("there is nothing to evaluate: predictions and truth have 0 instances")
    matches = find_matches(labels, Y)
    if not skip_empty:
        return matches
    rows = np.flatnonzero(matches.n_true)
    if len(rows) == 0:
        raise DataError("no instance has a true label: with skip_empty nothing is left to evaluate")
    return matches if len(rows) == len(matches) else matches.take(rows)


def find_matches(labels: LabelArray, Y: Sparse) -> Matches:
    """Run the kernel over checked inputs; it refuses rows that repeat a label."""
    from multitudes.kernels.metrics import find_hits  # loads numba: not before it is needed

    hit_row, hit_rank = np.empty(Y.nnz, np.int32), np.empty(Y.nnz, np.int32)
    mark = np.zeros(Y.shape[1], np.int32)
    indptr, indices = Y.indptr.astype(np.int64), Y.indices.astype(np.int32)
    n_hits = find_hits(labels, indptr, indices, mark, hit_row, hit_rank)
    if n_hits < 0:
        row = -1 - n_hits
        raise DataError(repeated("predictions", row, labels[row]))
    return Matches(labels, Y, hit_row[:n_hits], hit_rank[:n_hits])


def longest(predictions: PredictionsLike, matches: Matches) -> int:
    """Return how many labels the predictions offer at most, before any cut."""
    return predictions.top_k if isinstance(predictions, Predictions) else matches.labels.shape[1]
