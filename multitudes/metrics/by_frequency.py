"""Where the precision comes from: P@k and R@k split by how frequent a label is in training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multitudes import memory
from multitudes.errors import ConfigError, DataError
from multitudes.metrics.inputs import (
    PredictionsLike,
    TruthLike,
    check_ks,
    label_space,
    truth_matrix,
)
from multitudes.metrics.matches import Matches, match
from multitudes.metrics.terms import Term
from multitudes.validation import checked_count
from multitudes.validation.arrays import as_array


@dataclass(frozen=True)
class FrequencyBins:
    """A partition of the labels, most frequent bin first.

    Parameters
    ----------
    names : tuple of str
        One per bin, e.g. ("head", "middle", "tail").
    bin_of_label : int array (n_labels,)
        The bin each label belongs to.
    """

    names: tuple[str, ...]
    bin_of_label: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        bins = np.asarray(self.bin_of_label)
        if (
            bins.dtype.kind not in "iu"
            or bins.ndim != 1
            or (len(bins) and not 0 <= bins.min() <= bins.max() < len(self.names))
        ):
            raise DataError(
                f"bin_of_label must hold one bin number in 0..{len(self.names) - 1} per label"
            )

    def __len__(self) -> int:
        return len(self.bin_of_label)


def frequency_bins(
    Y_train: TruthLike, *, n_bins: int = 3, min_counts: tuple[int, ...] | None = None
) -> FrequencyBins:
    """Cut the labels into bins by their number of training instances.

    Parameters
    ----------
    Y_train : 0/1 matrix (n_instances, n_labels), sparse or dense, or lists of label ids
        The training labels.
    n_bins : int
        Bins that each hold about the same number of (instance, label) pairs: the head is a few
        labels, the tail very many. Three are called head, middle and tail.
    min_counts : tuple of int, optional
        Instead: the smallest count of each bin but the last, falling. ``(100, 10)`` makes the
        head of labels with 100 or more instances, the middle of 10 to 99, the tail of the rest.
    """
    Y = truth_matrix(Y_train, n_labels=label_space([], Y_train))
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    if min_counts is not None:
        given = as_array(list(min_counts) if isinstance(min_counts, Iterable) else min_counts)
        whole = given is not None and given.ndim == 1 and given.dtype.kind in "iu"
        if given is None or not whole or not len(given) or (np.diff(given) >= 0).any():
            raise ConfigError(
                f"min_counts must be whole numbers that fall, e.g. (100, 10), got {min_counts!r}"
            )
        return FrequencyBins(_names(len(given) + 1), (counts[:, None] < given).sum(axis=1))
    n_bins = checked_count(n_bins, "n_bins")
    memory.ask(100 * n_bins, f"{n_bins:,} bins")
    order = np.argsort(-counts, kind="stable")
    # A label goes to the bin its middle pair falls into.
    position = (np.cumsum(counts[order]) - counts[order] / 2) / max(int(counts.sum()), 1)
    bins = np.empty(len(counts), np.int64)
    bins[order] = np.minimum((position * n_bins).astype(np.int64), n_bins - 1)
    bins[counts == 0] = n_bins - 1
    return FrequencyBins(_names(n_bins), bins)


def frequency_terms(matches: Matches, ks: tuple[int, ...], bins: FrequencyBins) -> dict[str, Term]:
    """``P[bin]@k`` and ``R[bin]@k`` for every bin and k.

    P[bin]@k counts the hits on labels of the bin, over k: the bins add up to P@k. R[bin]@k is the
    share of all true labels of the bin that were found, over the whole data set.
    """
    hit_bin = bins.bin_of_label[matches.hit_label]
    true_bin = bins.bin_of_label[matches.truth.indices]
    rows = np.repeat(np.arange(len(matches)), matches.n_true)
    terms: dict[str, Term] = {}
    for number, name in enumerate(bins.names):
        inside = (hit_bin == number).astype(np.float64)
        true = np.bincount(rows[true_bin == number], minlength=len(matches)).astype(np.float64)
        gains = {k: matches.gain(k, inside) for k in ks}
        terms |= {f"P[{name}]@{k}": Term(gains[k] / k, matches.ones) for k in ks}
        terms |= {f"R[{name}]@{k}": Term(gains[k], true) for k in ks}
    return terms


def precision_by_frequency(
    predictions: PredictionsLike, truth: TruthLike, bins: FrequencyBins, *, k: int = 5
) -> dict[str, float]:
    """P@k split by bin, ``{"head": ..., ...}``; the values add up to P@k."""
    (k,) = check_ks((k,))
    matches = match(predictions, truth, top_k=k, weights=bins)
    terms = frequency_terms(matches, (k,), bins)
    return {name: terms[f"P[{name}]@{k}"].value for name in bins.names}


def _names(n_bins: int) -> tuple[str, ...]:
    known = {1: ("all",), 2: ("head", "tail"), 3: ("head", "middle", "tail")}
    return known.get(n_bins) or tuple(f"bin {i + 1}" for i in range(n_bins))
