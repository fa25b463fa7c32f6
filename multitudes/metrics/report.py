"""`evaluate` and `evaluate_sets`: all metrics at once, as a `Report`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes import views
from multitudes.errors import DataError, counted
from multitudes.metrics.at_k import at_k_terms
from multitudes.metrics.bootstrap import Resampling, intervals
from multitudes.metrics.by_frequency import FrequencyBins, frequency_terms
from multitudes.metrics.inputs import PredictionsLike, TruthLike, check_ks
from multitudes.metrics.macro import macro_values
from multitudes.metrics.matches import Matches, Values, longest, match
from multitudes.metrics.propensity import check_weights
from multitudes.metrics.sets import match_sets, set_label_values, set_terms
from multitudes.metrics.tables import WIDTH, aligned, grid, stacked, width, wrapped
from multitudes.metrics.terms import Term
from multitudes.metrics.unknown import UnknownLabels


@dataclass(frozen=True)
class Report:
    """Metrics of one set of predictions.

    Parameters
    ----------
    values : dict of name to float
        ``"P@1"``, ``"nDCG@5"``, ``"micro-F1"``...; between 0 and 1.
    n_instances, n_labels : int
        What was evaluated: instances, after `skip_empty`, and labels that occur in their truth.
    intervals : dict of name to (low, high)
        Bootstrap confidence intervals, where asked for and where the metric has one.
    notes : tuple of str
        What a reader of the numbers should know.
    unknown : UnknownLabels, optional
        Labels of the truth that the model does not know, if it is known what it knows.
    """

    values: Mapping[str, float]
    n_instances: int
    n_labels: int
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unknown: UnknownLabels | None = None

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def with_unknown(self, unknown: UnknownLabels | None) -> Report:
        """Return the report with a remark on labels that the model does not know."""
        if unknown is None:
            return self
        return replace(self, notes=(*unknown.notes(), *self.notes), unknown=unknown)

    def rows(self) -> list[list[str]]:
        """Return a header, and a row for each metric, in percent, with a column for each k.

        Where that is wider than 70 characters, e.g. with intervals, there is a row for each
        metric and k, with a column for the value and one for its interval.
        """
        numbers = {name: f"{100 * value:.2f}" for name, value in self.values.items()}
        ends = {
            name: f"[{100 * low:.2f}, {100 * high:.2f}]"
            for name, (low, high) in self.intervals.items()
        }
        rows = grid(
            {name: " ".join([n, *filter(None, [ends.get(name)])]) for name, n in numbers.items()}
        )
        if width(rows) <= WIDTH:
            return rows
        return stacked(numbers, ends)

    def remarks(self) -> list[str]:
        """Return what belongs below the table: what was evaluated, and the notes."""
        size = (
            f"{counted(self.n_instances, 'instance')}, "
            f"{counted(self.n_labels, 'label')} in the truth; in percent"
        )
        return [size, *self.notes]

    def table(self) -> str:
        """Return the metrics in percent as text, a line each and a column for each k."""
        return "\n".join([aligned(self.rows()), *wrapped(self.remarks())])

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        header, *rows = self.rows()
        lines = [views.paragraph(views.muted(remark)) for remark in self.remarks()]
        return "".join([views.table(header, rows), *lines])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "values": dict(self.values),
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
            "n_instances": self.n_instances,
            "n_labels": self.n_labels,
            "notes": list(self.notes),
            "unknown_labels": None if self.unknown is None else asdict(self.unknown),
        }


def evaluate(
    predictions: PredictionsLike,
    truth: TruthLike,
    *,
    ks: Iterable[int] = (1, 3, 5),
    inverse_propensity: npt.ArrayLike | None = None,
    frequency_bins: FrequencyBins | None = None,
    skip_empty: bool = False,
    resampling: Resampling | None = None,
) -> Report:
    """Every metric at k of ranked predictions.

    Parameters
    ----------
    predictions : Predictions, matrix of scores, or lists of labels (best first) or (label, score)
        Labels of lists are names or ids, as in the truth; what `Tagger.predict` returns will do.
        A missing prediction counts as a miss. Ties of scores go to the smaller label id; names of
        equal score stay in the order given.
    truth : 0/1 matrix (n_instances, n_labels), sparse or dense, or lists of labels
    ks : iterable of int
        The cut-offs.
    inverse_propensity : array (n_labels,), optional
        From `inverse_propensity(Y_train)`; adds PSP@k, PSnDCG@k and PSR@k.
    frequency_bins : FrequencyBins, optional
        From `frequency_bins(Y_train)`; adds P and R by bin.
    skip_empty : bool
        Leave out instances without a true label; by default they count.
    resampling : Resampling, optional
        Adds bootstrap confidence intervals to all but the macro metrics and coverage.

    Examples
    --------
    >>> evaluate([["belts", "shoes", "hats"]], [["belts", "hats"]], ks=(1, 3))["P@3"]
    0.6666666666666666
    """
    ks = check_ks(ks)
    weights = None if inverse_propensity is None else check_weights(inverse_propensity)
    matches = checked_matches(predictions, truth, ks, weights, frequency_bins, skip_empty)
    terms = at_k_terms(matches, ks, weights)
    if frequency_bins is not None:
        terms |= frequency_terms(matches, ks, frequency_bins)
    n_empty = int((matches.n_true == 0).sum())
    notes = notes_on(longest(predictions, matches), ks, _n_occurring(matches), n_empty)
    n_labels = int(np.count_nonzero(np.bincount(matches.truth.indices)))
    return _report(terms, macro_values(matches, ks), n_labels, resampling, notes)


def evaluate_sets(
    predictions: PredictionsLike,
    truth: TruthLike,
    *,
    skip_empty: bool = False,
    resampling: Resampling | None = None,
) -> Report:
    """Micro, example-based, macro and weighted precision, recall and F1 of predicted label sets.

    Parameters
    ----------
    predictions, truth
        As in `set_scores`.
    skip_empty, resampling
        As in `evaluate`; only the micro and example-based metrics have intervals.
    """
    matches = match_sets(predictions, truth, skip_empty=skip_empty)
    n_labels = int(np.count_nonzero(matches.per_label.true))
    n_empty = int((matches.n_true == 0).sum())
    notes = _empty_notes(n_empty, "counted as 0 in the example-based metrics")
    return _report(set_terms(matches), set_label_values(matches), n_labels, resampling, notes)


def checked_matches(
    predictions: PredictionsLike,
    truth: TruthLike,
    ks: tuple[int, ...],
    weights: Values | None,
    bins: FrequencyBins | None,
    skip_empty: bool,
) -> Matches:
    """`match`, with everything that has one entry per label held to the same label space."""
    if weights is not None and bins is not None and len(weights) != len(bins):
        raise DataError(
            f"inverse_propensity has {len(weights)} labels and frequency_bins {len(bins)}: "
            "make both from the same training labels"
        )
    per_label = weights if weights is not None else bins
    return match(predictions, truth, top_k=ks[-1], weights=per_label, skip_empty=skip_empty)


def _report(
    terms: dict[str, Term],
    label_means: dict[str, float],
    n_labels: int,
    resampling: Resampling | None,
    notes: tuple[str, ...],
) -> Report:
    values = {name: term.value for name, term in terms.items()} | label_means
    spread = {} if resampling is None else intervals(terms, resampling)
    n_instances = len(next(iter(terms.values())).numerator)
    return Report(values, n_instances, n_labels, spread, notes)


def notes_on(longest: int, ks: tuple[int, ...], n_occurring: int, n_empty: int) -> tuple[str, ...]:
    """Return what to say of predictions of at most `longest` labels, and of empty truths."""
    notes = []
    if longest < ks[-1] and longest < n_occurring:
        notes.append(
            f"Predictions hold at most {longest} labels per instance: "
            f"past rank {longest} every label counts as a miss."
        )
    return (*notes, *_empty_notes(n_empty, "counted as 0"))


def _n_occurring(matches: Matches) -> int:
    """Return the labels predicted or true anywhere: of others, more predictions hit none."""
    occurs = np.zeros(matches.truth.shape[1], bool)
    occurs[matches.labels[matches.labels >= 0]] = True
    occurs[matches.truth.indices] = True
    return int(np.count_nonzero(occurs))


def _empty_notes(empty: int, how: str) -> tuple[str, ...]:
    note = f"Instances without a true label, {how}: {empty:,}; skip_empty=True leaves them out."
    return (note,) if empty else ()
