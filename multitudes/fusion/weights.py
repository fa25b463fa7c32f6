"""Weights of members by how often a label is used, searched on held-out instances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from multitudes.errors import StoreError
from multitudes.fusion.fusion import Fusion
from multitudes.fusion.lists import Block, Lists
from multitudes.metrics import ndcg_at_k
from multitudes.store import State, checks
from multitudes.types import FloatArray, IntArray, LabelArray, Predictions, Sparse

Values = Callable[[Block], npt.NDArray[np.float32]]

N_BINS = 4
"""Bins of labels by frequency, with about as many uses in each."""
PAIRS_OF_BIN = 200
"""Held-out uses of labels that a bin needs for weights of its own."""
SEARCHED = 4000
"""Held-out instances that weights are tried on, at most."""
LISTED = 20
"""Labels of each member that count while weights are tried."""
METRIC_AT = 5
FACTORS = (0.0, 0.5, 0.75, 1.4, 2.0)
"""By which a weight is multiplied on trial; what is 0 may come back as 0.5."""
GAIN = 1e-4
"""By how much nDCG must rise for a weight to change: less is chance."""
PASSES = 3
MAX_BINS = 255
ARRAYS = ("weights", "bin_of", "base", "edges")
"""Names under which weights are stored."""


@dataclass(frozen=True)
class Weights:
    """How much members count for labels of each bin.

    Parameters
    ----------
    table : float32 array (n_bins, n_members)
    bin_of : uint8 array (n_labels,)
        The bin of each label; 0 holds the rarest.
    base : float32 array (n_bins,)
        What labels of a bin start from.
    edges : float32 array (n_bins - 1,)
        Uses of a label from which on it belongs to the next bin.
    """

    table: FloatArray
    bin_of: npt.NDArray[np.uint8]
    base: FloatArray
    edges: FloatArray

    @classmethod
    def of_members(
        cls,
        weights: Any,
        n_labels: int,
        counts: FloatArray | None = None,
        edges: FloatArray | None = None,
    ) -> Weights:
        """Return weights that are the same for all bins, of which there is one by default."""
        edges = np.zeros(0, np.float32) if edges is None else edges
        counts = np.zeros(n_labels, np.float32) if counts is None else counts
        table = np.tile(np.asarray(weights, np.float32), (len(edges) + 1, 1))
        return cls(table, _bins(counts, edges), np.zeros(len(edges) + 1, np.float32), edges)

    @classmethod
    def of_knowing(cls, weights: FloatArray, knows: npt.NDArray[np.bool_]) -> Weights:
        """Return weights of the members that know a label, which add up to the same for each.

        Parameters
        ----------
        weights : float32 array (n_members,)
        knows : bool array (n_labels, n_members)
            Whether a member knows a label. Labels that the same members know make a bin.
        """
        patterns, bin_of = np.unique(knows, axis=0, return_inverse=True)
        if len(patterns) > MAX_BINS:
            return cls.of_members(weights, len(knows))
        table = patterns * weights
        total = table.sum(axis=1, keepdims=True)
        table = np.where(total > 0, table / np.where(total > 0, total, 1), weights / weights.sum())
        base, edges = np.zeros(len(table), np.float32), np.zeros(0, np.float32)
        return cls(table.astype(np.float32), bin_of.ravel().astype(np.uint8), base, edges)

    def resized(self, kept: IntArray, counts: FloatArray) -> Weights:
        """Return the weights for some labels and new ones behind them, used as `counts` say."""
        if len(self.edges):
            return replace(self, bin_of=_bins(counts, self.edges))
        most = int(np.bincount(self.bin_of, minlength=1).argmax())
        new = np.full(len(counts) - len(kept), most, np.uint8)
        return replace(self, bin_of=np.concatenate([self.bin_of[kept], new]))

    def scaled(self) -> Weights:
        """Return weights that add up to 1 in the bin where they add up to most."""
        most = max(float(self.table.sum(axis=1).max()), 1e-6)
        return replace(self, table=self.table / np.float32(most), base=self.base / np.float32(most))

    def started(self, floors: FloatArray) -> Weights:
        """Return weights by which members that do not list a label count as `floors`."""
        return replace(self, base=(self.table @ floors).astype(np.float32))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store."""
        return dict(zip(ARRAYS, (self.table, self.bin_of, self.base, self.edges), strict=True))

    @staticmethod
    def check(state: State, *, n_members: int, n_labels: int) -> None:
        """Raise a StoreError unless each label has a bin with a weight for each member."""
        table = checks.array(state, "weights", "float32", (None, n_members))
        checks.finite(table, "weights")
        if not len(table):
            raise StoreError("weights must have at least one bin")
        bins = checks.array(state, "bin_of", "uint8", (n_labels,))
        checks.within(bins, "bin_of", len(table))
        checks.finite(checks.array(state, "base", "float32", (len(table),)), "base")
        edges = checks.array(state, "edges", "float32", (None,))
        if len(edges):
            checks.same(len(edges), len(table) - 1, "the number of bins")
        checks.finite(edges, "edges")
        checks.rising(edges, "edges")

    @classmethod
    def from_arrays(cls, arrays: Any) -> Weights:
        """Build them again."""
        return cls(*(np.ascontiguousarray(arrays[name]) for name in ARRAYS))


def to_probabilities(log_odds: FloatArray) -> None:
    """Make probabilities of log-odds, in place; -inf stays, beside places without a label."""
    listed = log_odds > -np.inf
    with np.errstate(over="ignore"):
        np.copyto(log_odds, 1 / (1 + np.exp(-log_odds)), where=listed)


def summed(
    lists: Lists,
    values: Values,
    weights: Weights,
    *,
    top_k: int,
    of_odds: bool = False,
    n_jobs: int | None = None,
) -> Predictions:
    """Rank labels by the weighted sum of what their places are worth.

    Parameters
    ----------
    lists : Lists
    values : function of a Block
        What each place is worth, float32 (n, width), or (1, width) if rows do not matter.
    weights : Weights
    top_k : int
    of_odds : bool
        Whether sums are log-odds, of which probabilities are made.
    n_jobs : int, optional
    """
    from multitudes.kernels.fusion import sum_lists, table_size  # loads numba

    columns, size = lists.columns, table_size(lists.width)

    def fill(block: Block, labels: LabelArray, scores: FloatArray) -> None:
        keys, places = np.full(size, -1, np.int32), np.empty(size, np.int32)
        sum_lists(
            block.labels, values(block), columns, weights.table, weights.bin_of, weights.base,
            keys, places, labels, scores,
        )  # fmt: skip
        if of_odds:
            to_probabilities(scores)

    return lists.fused(fill, top_k=top_k, n_jobs=n_jobs)


def frequency_edges(counts: FloatArray | None, truth: Sparse) -> FloatArray:
    """Return the uses at which one bin of labels ends and the next begins.

    Parameters
    ----------
    counts : float32 array (n_labels,), optional
        Uses in training; without them there is one bin.
    truth : CSR (n_instances, n_labels)
        Held-out uses: bins have about as many of them each.
    """
    used = truth.indices[truth.data != 0]
    n_bins = min(N_BINS, len(used) // PAIRS_OF_BIN)
    if counts is None or n_bins < 2:
        return np.zeros(0, np.float32)
    edges = np.unique(np.quantile(counts[used], np.arange(1, n_bins) / n_bins))
    found: FloatArray = edges[edges > counts.min()].astype(np.float32)
    return found


def _bins(counts: FloatArray, edges: FloatArray) -> npt.NDArray[np.uint8]:
    return np.searchsorted(edges, counts, side="right").astype(np.uint8)


def searched_weights(
    lists: Lists,
    truth: Sparse,
    start: Weights,
    fused: Callable[[Lists, Weights], Predictions],
) -> Weights:
    """Return the weights that are best on held-out instances, one coordinate after the other.

    First a weight for each member, then, where labels have several bins, one for each bin.

    Parameters
    ----------
    lists, truth : what members say about instances, and their labels
    start : Weights
    fused : function of lists and weights
        Fuses by some weights; `METRIC_AT` labels are enough.
    """
    rows = np.linspace(0, len(lists) - 1, min(len(lists), SEARCHED)).astype(np.int64)
    some, wanted = lists.take(rows).top(LISTED), truth[rows]

    def value(table: FloatArray) -> float:
        return ndcg_at_k(fused(some, replace(start, table=table)), wanted, k=METRIC_AT)

    n_bins, n_members = start.table.shape
    every_bin = [(slice(None), member) for member in range(n_members)]
    table, best = _climbed(start.table, value, every_bin)
    if n_bins > 1:
        one_bin = [(number, member) for number in range(n_bins) for member in range(n_members)]
        table, best = _climbed(table, value, one_bin, best)
    return replace(start, table=table)


def _climbed(
    table: FloatArray,
    value: Callable[[FloatArray], float],
    places: list[Any],
    best: float | None = None,
) -> tuple[FloatArray, float]:
    """Change one place of a table after the other as long as the value rises."""
    best = value(table) if best is None else best
    for _ in range(PASSES):
        changed = False
        for place in places:
            for trial in _trials(table, place):
                found = value(trial)
                if found > best + GAIN:
                    table, best, changed = trial, found, True
        if not changed:
            break
    return table, best


def _trials(table: FloatArray, place: Any) -> list[FloatArray]:
    trials = []
    for factor in FACTORS:
        trial = table.copy()
        trial[place] = factor * trial[place] if np.all(trial[place]) else factor
        if trial.any(axis=1).all():
            trials.append(trial)
    return trials


class WeightedFusion(Fusion):
    """A fusion whose members have weights; they may differ with the frequency of a label."""

    weights_: Weights

    def resized(
        self, kept: IntArray, counts: FloatArray, new_texts: Sequence[str] | None = None
    ) -> Self:
        """Return it for other labels; see `Fusion.resized`."""
        other = copy(self)
        other.weights_, other.n_labels_ = self.weights_.resized(kept, counts), len(counts)
        return other
