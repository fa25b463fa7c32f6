"""Metrics averaged over labels: macro P, R and F1 at k, and coverage at k.

Every label that occurs in the truth or in the predictions counts the same, however rare it is.
These are not sums over instances, so they have no bootstrap interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError
from multitudes.metrics.inputs import PredictionsLike, TruthLike, check_ks
from multitudes.metrics.matches import Matches, Values, match
from multitudes.metrics.terms import ratio, total

Counts = npt.NDArray[np.int64]
Over = Literal["occurring", "true", "all"]


@dataclass(frozen=True)
class LabelCounts:
    """What happened to each label.

    Parameters
    ----------
    hits, predicted, true : int64 arrays (n_labels,)
        How often the label was rightly predicted, predicted, and true.
    """

    hits: Counts
    predicted: Counts
    true: Counts

    def found(self) -> LabelCounts:
        """Return only the labels that were hit at least once."""
        labels = np.flatnonzero(self.hits)
        return LabelCounts(self.hits[labels], self.predicted[labels], self.true[labels])

    def occurring(self) -> npt.NDArray[np.bool_]:
        """Whether each label is true or predicted anywhere."""
        return np.asarray((self.true > 0) | (self.predicted > 0), np.bool_)

    def precision(self, *, empty: float = 0.0) -> Values:
        """Precision of each label; `empty` for a label never predicted."""
        return ratio(self.hits, self.predicted, empty=empty)

    def recall(self, *, empty: float = 0.0) -> Values:
        """Recall of each label; `empty` for a label that is never true."""
        return ratio(self.hits, self.true, empty=empty)

    def f1(self, *, empty: float = 0.0) -> Values:
        """F1 of each label; `empty` for a label neither predicted nor true."""
        return ratio(2 * self.hits, self.predicted + self.true, empty=empty)

    def coverage(self) -> float:
        """Share of the labels that are true somewhere and were found at least once."""
        return float(ratio(np.count_nonzero(self.hits), np.count_nonzero(self.true)))


def label_counts(matches: Matches, ks: tuple[int, ...]) -> list[LabelCounts]:
    """Counts of each label among the best k, for every k of rising `ks`."""
    from multitudes.kernels.metrics import count_predicted  # loads numba: not before it is needed

    width, n_labels = matches.labels.shape[1], matches.n_labels
    predicted = np.zeros((len(ks), n_labels), np.int64)
    section = np.searchsorted(np.array(ks), np.arange(width), side="right").astype(np.int64)
    if width:
        count_predicted(matches.labels[:, : ks[-1]], section, predicted)
    true = np.bincount(matches.truth.indices, minlength=n_labels)
    return [
        LabelCounts(
            np.bincount(matches.hit_label[matches.hit_rank < k], minlength=n_labels), so_far, true
        )
        for k, so_far in zip(ks, predicted.cumsum(axis=0), strict=True)
    ]


def macro_values(
    matches: Matches, ks: tuple[int, ...], *, over: Over = "occurring"
) -> dict[str, float]:
    """Every metric of this file for every k; see `macro_precision_at_k`."""
    return values_of_counts(label_counts(matches, ks), ks, over=over)


def values_of_counts(
    counts: Sequence[LabelCounts], ks: tuple[int, ...], *, over: Over = "occurring"
) -> dict[str, float]:
    """Return the same from the counts of each k, whoever counted."""
    n_averaged = [np.count_nonzero(averaged(of, over)) for of in counts]
    found = [of.found() for of in counts]  # every other label counts 0, and they are most
    values: dict[str, float] = {}
    for name, per_label in (
        ("macro-P", LabelCounts.precision),
        ("macro-R", LabelCounts.recall),
        ("macro-F1", LabelCounts.f1),
    ):
        for k, of, n in zip(ks, found, n_averaged, strict=True):
            values[f"{name}@{k}"] = float(ratio(total(per_label(of)), n))
    return values | {f"coverage@{k}": of.coverage() for k, of in zip(ks, counts, strict=True)}


def averaged(counts: LabelCounts, over: Over) -> npt.NDArray[np.bool_]:
    """Whether each label takes part in a mean; see `macro_precision_at_k`."""
    if over not in get_args(Over):
        raise ConfigError(f"over must be one of {list(get_args(Over))}, got {over!r}")
    if over == "all":
        return np.ones(len(counts.true), np.bool_)
    return counts.true > 0 if over == "true" else counts.occurring()


def macro_precision_at_k(
    predictions: PredictionsLike, truth: TruthLike, *, k: int = 5, over: Over = "occurring"
) -> float:
    """Precision of each label among the best k, averaged over labels.

    Parameters
    ----------
    predictions, truth
        As in `precision_at_k`.
    k : int
        How many labels of each instance are looked at.
    over : "occurring", "true" or "all"
        Average over the labels that occur in the truth or among the best k predictions (as
        scikit-learn does with lists of labels), over those that occur in the truth, or over the
        whole label space, which ends at the largest id where both are lists. A label whose
        denominator is 0 counts 0.
    """
    return _single("macro-P", predictions, truth, k, over)


def macro_recall_at_k(
    predictions: PredictionsLike, truth: TruthLike, *, k: int = 5, over: Over = "occurring"
) -> float:
    """Recall of each label among the best k, averaged; inputs as `macro_precision_at_k`."""
    return _single("macro-R", predictions, truth, k, over)


def macro_f1_at_k(
    predictions: PredictionsLike, truth: TruthLike, *, k: int = 5, over: Over = "occurring"
) -> float:
    """F1 of each label among the best k, averaged; inputs as `macro_precision_at_k`."""
    return _single("macro-F1", predictions, truth, k, over)


def coverage_at_k(predictions: PredictionsLike, truth: TruthLike, *, k: int = 5) -> float:
    """Share of the labels true somewhere that the best k find at least once."""
    return _single("coverage", predictions, truth, k, "occurring")


def _single(name: str, predictions: Any, truth: Any, k: int, over: Over) -> float:
    (k,) = check_ks((k,))
    matches = match(predictions, truth, top_k=k)
    return macro_values(matches, (k,), over=over)[f"{name}@{k}"]
