"""The metric that is tuned: found by name, measured, and compared on the same instances."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes import metrics
from multitudes.data import Dataset, align
from multitudes.errors import ConfigError, DataError, suggestion
from multitudes.metrics import Difference, FrequencyBins, Report, Resampling
from multitudes.metrics.bootstrap import percentiles
from multitudes.scores.calibrated import CalibrationConfig
from multitudes.tagger import Tagger
from multitudes.tagger.evaluation import predictions_of
from multitudes.types import Predictions

BINS = ("head", "middle", "tail")
AT_K = (
    "P", "R", "nDCG", "PSP", "PSnDCG", "PSR", "macro-P", "macro-R", "macro-F1", "coverage",
    *(f"{metric}[{name}]" for metric in "PR" for name in BINS),
)  # fmt: skip
OF_SETS = tuple(
    f"{mean}-{metric}"
    for mean in ("micro", "example", "macro", "weighted")
    for metric in ("P", "R", "F1")
)
LARGEST_K = 1000
# Metrics that are no sums over instances are computed anew for each sample, which takes longer.
SLOW_RESAMPLES = 200


@dataclass(frozen=True)
class Metric:
    """A metric by name, as `multitudes evaluate` prints it.

    Parameters
    ----------
    name : str
        "nDCG@5", "micro-F1".
    k : int or None
        None for a metric of label sets.
    """

    name: str
    k: int | None

    @classmethod
    def named(cls, name: str) -> Metric:
        """Find a metric, whatever its capital letters; an unknown name is an error."""
        family, at, k = str(name).partition("@")
        known = {one.lower(): one for one in (AT_K if at else OF_SETS)}
        found = known.get(family.strip().lower())
        if found is None or (at and not re.fullmatch(r"[0-9]+", k)):
            raise ConfigError(f"there is no metric {name!r}: {_nearest(str(name))}")
        if not at:
            return cls(found, None)
        if not 1 <= int(k) <= LARGEST_K:
            raise ConfigError(f"metric {name!r}: k must be from 1 to {LARGEST_K}, got {k}")
        return cls(f"{found}@{int(k)}", int(k))

    @property
    def of_sets(self) -> bool:
        """Whether it measures label sets, not a ranking."""
        return self.k is None

    @property
    def by_propensity(self) -> bool:
        """Whether it weighs labels by their frequency in the training data."""
        return self.name.startswith("PS")

    @property
    def by_frequency(self) -> bool:
        """Whether it counts only labels that are frequent, or rare, in the training data."""
        return "[" in self.name

    def calibration(self) -> CalibrationConfig:
        """Return how label sets are made: tuned for the same mean."""
        return CalibrationConfig(metric="example" if self.name.startswith("example") else "micro")


def _nearest(name: str) -> str:
    family, _, k = name.partition("@")
    k = k if re.fullmatch(r"[0-9]+", k) else "5"
    spelled = {f"{one}@{k}".lower(): f"{one}@{k}" for one in AT_K}
    spelled |= {one.lower(): one for one in OF_SETS}
    if family.lower() in {one.lower() for one in AT_K}:
        return f"did you mean {spelled[f'{family}@{k}'.lower()]!r}?"
    offered = suggestion(name.lower(), spelled)
    for lower, right in spelled.items():
        offered = offered.replace(f"'{lower}'", repr(right))
    if offered.startswith("did"):
        return offered
    return f"known: {', '.join([f'{one}@{k}' for one in AT_K] + list(OF_SETS))}"


class Examiner:
    """Labeled data to measure taggers on.

    Parameters
    ----------
    metric : Metric
    dataset : Dataset
        Labels are matched by name; those that the training data does not have are missed.
    train : Dataset
        All of the training data: whatever part a tagger has seen, labels weigh the same.
    """

    def __init__(self, metric: Metric, dataset: Dataset, train: Dataset) -> None:
        self.metric, self._dataset = metric, dataset
        self._names = train[:0]  # the label space alone
        needs_train = metric.by_propensity or metric.by_frequency
        aligned = align([], dataset, train=train if needs_train else self._names)
        self._Y = aligned.truth.Y
        assert aligned.train is not None
        self._weights: npt.NDArray[np.float64] | None = None
        self._bins: FrequencyBins | None = None
        if metric.by_propensity:
            self._weights = metrics.inverse_propensity(aligned.train.Y)
        if metric.by_frequency:
            self._bins = metrics.frequency_bins(aligned.train.Y)

    def __len__(self) -> int:
        return len(self._dataset)

    def predictions(self, tagger: Tagger) -> Predictions:
        """Return what a tagger says about the instances."""
        found = predictions_of(tagger, self._dataset, top_k=self.metric.k)
        return align([found], self._dataset, train=self._names).predictions[0]

    def value(self, found: Predictions) -> float:
        """Return the metric of predictions."""
        return self._value(found, self._Y)

    def _value(self, found: Predictions, Y: Any) -> float:
        report: Report
        if self.metric.of_sets:
            report = metrics.evaluate_sets(found, Y)
        else:
            assert self.metric.k is not None
            report = metrics.evaluate(
                found,
                Y,
                ks=(self.metric.k,),
                inverse_propensity=self._weights,
                frequency_bins=self._bins,
            )
        return float(report[self.metric.name])

    def difference(self, a: Predictions, b: Predictions, resampling: Resampling) -> Difference:
        """Return by how much `a` is better than `b`, with an interval and a paired test."""
        name, Y = self.metric.name, self._Y
        if self.metric.of_sets:
            found = metrics.compare_sets(a, b, Y, resampling=resampling).differences
        else:
            assert self.metric.k is not None
            found = metrics.compare(
                a,
                b,
                Y,
                ks=(self.metric.k,),
                inverse_propensity=self._weights,
                resampling=resampling,
            ).differences
        if name in found:
            return found[name]
        few = resampling.replaced(n_resamples=min(SLOW_RESAMPLES, resampling.n_resamples))
        return resampled_difference(self._value, a, b, Y, few)


def resampled_difference(
    value: Callable[[Predictions, Any], float],
    a: Predictions,
    b: Predictions,
    Y: Any,
    resampling: Resampling,
) -> Difference:
    """Compare by a metric that is no sum over instances: bootstrap, and swaps of instances.

    Parameters
    ----------
    value : callable
        The metric of predictions and truth.
    a, b : Predictions
        Of the same instances.
    Y : CSR (n_instances, n_labels)
    resampling : Resampling
    """
    a, b = _as_wide(a, b)
    n = len(a.labels)
    draws = np.random.default_rng(resampling.random_state)
    swaps = np.random.default_rng([resampling.random_state, 1])
    ours, theirs = value(a, Y), value(b, Y)
    apart, as_large = [], 0
    for _ in range(resampling.n_resamples):
        rows = draws.integers(0, n, n)
        apart.append(value(a[rows], Y[rows]) - value(b[rows], Y[rows]))
        swapped = swaps.integers(0, 2, n).astype(np.bool_)
        one, other = _swapped(a, b, swapped), _swapped(b, a, swapped)
        as_large += abs(value(one, Y) - value(other, Y)) >= abs(ours - theirs) - 1e-12
    ((low, high),) = percentiles(["difference"], np.array(apart)[:, None], resampling).values()
    p_value = (1 + int(as_large)) / (1 + resampling.n_resamples)
    return Difference(ours, theirs, ours - theirs, low, high, p_value)


def _as_wide(a: Predictions, b: Predictions) -> tuple[Predictions, Predictions]:
    """Return both with as many columns."""
    width = max(a.labels.shape[1], b.labels.shape[1])

    def wide(one: Predictions) -> Predictions:
        more = ((0, 0), (0, width - one.labels.shape[1]))
        labels = np.pad(one.labels, more, constant_values=-1)
        scores = np.pad(one.scores, more, constant_values=-np.inf)
        return Predictions(labels, scores, one.n_labels)

    return wide(a), wide(b)


def _swapped(a: Predictions, b: Predictions, swapped: npt.NDArray[np.bool_]) -> Predictions:
    labels = np.where(swapped[:, None], b.labels, a.labels)
    scores = np.where(swapped[:, None], b.scores, a.scores)
    return Predictions(labels, scores, a.n_labels)


def check_measurable(dataset: Dataset, what: str) -> None:
    """Refuse data on which every tagger is worth nothing."""
    if not len(dataset) or not dataset.Y.nnz:
        raise DataError(f"the {what} has no labels to measure on: {dataset!r}")
