"""Listed labels sorted by label, and the best cut of each label's pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multitudes.scores.outcomes import Outcomes
from multitudes.scores.set_f1 import Metric
from multitudes.types import IntArray, Predictions

MAX_PASSES = 10  # over all labels; three or four change anything


@dataclass(frozen=True)
class LabelPairs:
    """Pairs (instance, listed label), label by label, scores falling.

    Parameters
    ----------
    starts : int64 array (n_labels + 1,)
        Where the pairs of each label begin.
    rows : int64 array (n_pairs,)
    is_true : bool array (n_pairs,)
    scores : float64 array (n_pairs,)
    n_true : int64 array (n_instances,)
        True labels of each instance.
    n_forced, n_forced_hits : int64 arrays (n_instances,)
        Labels that are taken in any case and are not among the pairs; how many of them are true.
    """

    starts: IntArray
    rows: IntArray
    is_true: npt.NDArray[np.bool_]
    scores: npt.NDArray[np.float64]
    n_true: IntArray
    n_forced: IntArray
    n_forced_hits: IntArray

    @classmethod
    def of(cls, predictions: Predictions, found: Outcomes, *, min_size: int = 0) -> LabelPairs:
        """Sort the listed places of predictions that are not among the first `min_size`."""
        is_free = found.is_listed & (np.arange(predictions.top_k) >= min_size)
        labels = predictions.labels[is_free]
        scores = predictions.scores[is_free].astype(np.float64)
        rows = np.nonzero(is_free)[0]
        order = np.lexsort((rows, -scores, labels))
        counts = np.bincount(labels, minlength=predictions.n_labels)
        return cls(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            rows[order],
            found.is_true[is_free][order],
            scores[order],
            found.n_true,
            found.is_listed[:, :min_size].sum(axis=1),
            found.is_true[:, :min_size].sum(axis=1),
        )

    def cuts_at(self, threshold: float) -> IntArray:
        """Return how many pairs of each label, (n_labels,), reach a threshold."""
        reached = np.concatenate([[0], np.cumsum(self.scores >= threshold)])
        return np.asarray(reached[self.starts[1:]] - reached[self.starts[:-1]], np.int64)

    def best_cuts(self, first_cuts: IntArray, metric: Metric) -> IntArray:
        """Return how many pairs of each label, (n_labels,), to take for the largest F1.

        Micro-F1 is a ratio 2H / (N + T), and is maximal where 2H - F (N + T) is, F being its own
        maximum: then every label is a problem of its own, and F follows from the cuts
        (Dinkelbach 1967). The mean over instances has no such form: labels take turns.
        """
        from multitudes.kernels.scores import cut_labels  # loads numba

        cuts = first_cuts.copy()
        counts = np.diff(self.starts)
        taken = np.arange(len(self.rows)) - np.repeat(self.starts[:-1], counts) < np.repeat(
            cuts, counts
        )
        n = len(self.n_true)
        n_taken = self.n_forced + np.bincount(self.rows[taken], minlength=n)
        n_hits = self.n_forced_hits + np.bincount(self.rows[taken & self.is_true], minlength=n)
        for _ in range(MAX_PASSES):
            before = cuts.copy()
            price = 2 * n_hits.sum() / max(n_taken.sum() + self.n_true.sum(), 1)
            cut_labels(
                self.starts, self.rows, self.is_true, self.scores, self.n_true,
                float(price) if metric == "micro" else -1.0,
                first_cuts, n_taken, n_hits, cuts,
            )  # fmt: skip
            if (cuts == before).all():
                break
        return cuts

    def thresholds(self, cuts: IntArray) -> npt.NDArray[np.float64]:
        """Return a threshold (n_labels,) for each cut: half-way between the scores it parts.

        NaN for a label without pairs. Where none is taken it is above the best score, where all
        are it is the lowest.
        """
        out = np.full(len(cuts), np.nan)
        some = np.flatnonzero(np.diff(self.starts))
        first, last = self.starts[some], self.starts[some + 1] - 1
        above = self.scores[np.maximum(first + cuts[some] - 1, first)]
        below = self.scores[np.minimum(first + cuts[some], last)]
        out[some] = (above + below) / 2
        none = some[cuts[some] == 0]
        out[none] = np.nextafter(self.scores[self.starts[none]], np.inf)
        return out
