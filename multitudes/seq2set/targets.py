"""The labels to learn, as rows of symbols: as a set, or as a sequence with an end."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multitudes.types import IntArray, Sparse

FEWEST_STEPS = 10


@dataclass(frozen=True)
class TargetRows:
    """Each instance's labels, in the order to learn.

    Parameters
    ----------
    labels : int64 array (n_pairs,)
    offsets : int64 array (n_instances + 1,)
        Instance i has ``labels[offsets[i]:offsets[i + 1]]``.
    n_steps : int
        Symbols to generate at most, the end included where there is one.
    end : int, optional
        The symbol behind the last label; None for sets, which have no end.
    n_cut : int
        Instances with more labels than fit, of which the first are learned.
    n_labels_cut : int
        Labels that are not learned for that reason, over all instances.
    """

    labels: IntArray
    offsets: IntArray
    n_steps: int
    end: int | None
    n_cut: int
    n_labels_cut: int = 0

    def padded(self, rows: npt.NDArray[np.integer]) -> IntArray:
        """Symbols (b, n_steps) of some instances, -1 behind them."""
        starts = self.offsets[rows]
        counts = self.offsets[np.asarray(rows) + 1] - starts
        columns = np.arange(self.n_steps)
        inside = columns < counts[:, None]  # (b, n_steps)
        out = np.full(inside.shape, -1, np.int64)
        out[inside] = self.labels[(starts[:, None] + columns)[inside]]
        if self.end is not None:
            out[np.arange(len(counts)), counts] = self.end
        return out


def enough_steps(label_counts: npt.NDArray[np.integer], share: float) -> int:
    """Return the fewest steps that hold all labels of this share of the instances.

    Ten steps, or the largest count if it is smaller, are always there: they cost little, and the
    few instances of a small data set say little about their quantiles.
    """
    counts = np.sort(label_counts)
    if not len(counts):
        return 1
    quantile = int(counts[math.ceil(share * len(counts)) - 1])
    return max(1, min(int(counts[-1]), max(quantile, FEWEST_STEPS)))


def target_rows(Y: Sparse, *, order: str, ends: bool, n_steps: int | None = None) -> TargetRows:
    """The labels of training instances.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
    order : "id" or "frequent"
        By label id (a CSR array has no other order of its own), or frequent to rare.
    ends : bool
        Whether an end symbol, n_labels, follows the last label.
    n_steps : int, optional
        Labels to learn at most; by default the largest count. Of an instance with more, the first
        in that order are kept.
    """
    counts = np.diff(Y.indptr).astype(np.int64)
    rows = np.repeat(np.arange(len(counts)), counts)
    labels = Y.indices.astype(np.int64)
    frequency = np.bincount(labels, minlength=Y.shape[1])
    first = labels if order == "id" else -frequency[labels]
    by_row = np.lexsort((labels, first, rows))
    labels = labels[by_row]
    most = n_steps or max(1, int(counts.max(initial=1)))
    rank = np.arange(len(labels)) - np.repeat(Y.indptr[:-1], counts)
    kept = rank < most
    offsets = np.concatenate([[0], np.cumsum(np.minimum(counts, most))]).astype(np.int64)
    return TargetRows(
        labels[kept],
        offsets,
        n_steps=most + ends,
        end=Y.shape[1] if ends else None,
        n_cut=int((counts > most).sum()),
        n_labels_cut=int(np.maximum(counts - most, 0).sum()),
    )
