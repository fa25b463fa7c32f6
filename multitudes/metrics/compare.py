"""Is one set of predictions better than another? Paired tests over the same instances.

The difference's interval comes from a paired bootstrap, its p-value from a sign-flip permutation
test: if the two were alike, swapping them on any instance would change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError
from multitudes.metrics.at_k import at_k_terms
from multitudes.metrics.bootstrap import Resampling, batches, bootstrap_values, percentiles
from multitudes.metrics.inputs import PredictionsLike, TruthLike, check_ks
from multitudes.metrics.matches import Values
from multitudes.metrics.propensity import check_weights
from multitudes.metrics.report import checked_matches
from multitudes.metrics.sets import match_sets, set_terms
from multitudes.metrics.tables import aligned, wrapped
from multitudes.metrics.terms import Columns, Term
from multitudes.metrics.unknown import UnknownLabels
from multitudes.progress import track

ROUNDING = 1e-12  # two sums of the same numbers in another order are equal


@dataclass(frozen=True)
class Difference:
    """One metric under both predictions.

    Parameters
    ----------
    a, b, difference : float
        The metric of each, and ``a - b``.
    low, high : float
        Confidence interval of the difference.
    p_value : float
        Chance of a difference at least this large, either way, if the two were alike.
    """

    a: float
    b: float
    difference: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    Parameters
    ----------
    differences : dict of metric name to Difference
    n_instances : int
    resampling : Resampling
        How intervals and p-values were drawn.
    notes : tuple of str
        What a reader of the numbers should know.
    unknown : UnknownLabels, optional
        Labels of the truth that the models do not know, if it is known what they know.
    """

    differences: Mapping[str, Difference]
    n_instances: int
    resampling: Resampling
    notes: tuple[str, ...] = ()
    unknown: UnknownLabels | None = None

    def __getitem__(self, name: str) -> Difference:
        return self.differences[name]

    def with_unknown(self, unknown: UnknownLabels | None) -> Comparison:
        """Return the comparison with a remark on labels that the models do not know."""
        if unknown is None:
            return self
        return replace(self, notes=(*unknown.notes(), *self.notes), unknown=unknown)

    def rows(self) -> list[list[str]]:
        """Return a header and, per metric, both values, their difference, its interval and p."""
        rows = [["", "A", "B", "A - B", f"{self.resampling.confidence:.0%} interval", "p"]]
        for name, d in self.differences.items():
            numbers = [f"{100 * x:.2f}" for x in (d.a, d.b)]
            interval = f"[{100 * d.low:+.2f}, {100 * d.high:+.2f}]"
            rows.append(
                [name, *numbers, f"{100 * d.difference:+.2f}", interval, f"{d.p_value:.4f}"]
            )
        return rows

    def remarks(self) -> list[str]:
        """Return what belongs below the table: what was compared, and the notes."""
        size = (
            f"{self.n_instances:,} instances; in percent; "
            "p-values are not corrected for the number of metrics"
        )
        return [size, *self.notes]

    def table(self) -> str:
        """Return the rows as text, with what was compared."""
        return "\n".join([aligned(self.rows()), *wrapped(self.remarks())])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "differences": {name: asdict(d) for name, d in self.differences.items()},
            "n_instances": self.n_instances,
            "resampling": self.resampling.to_dict(),
            "notes": list(self.notes),
            "unknown_labels": None if self.unknown is None else asdict(self.unknown),
        }


def compare(
    a: PredictionsLike,
    b: PredictionsLike,
    truth: TruthLike,
    *,
    ks: Iterable[int] = (1, 3, 5),
    inverse_propensity: npt.ArrayLike | None = None,
    skip_empty: bool = False,
    resampling: Resampling | None = None,
) -> Comparison:
    """Compare two ranked predictions of the same instances, metric by metric.

    Parameters
    ----------
    a, b : Predictions, matrices of scores, or lists of names or ids
        See `evaluate`.
    truth : 0/1 matrix (n_instances, n_labels), sparse or dense, or lists of labels
    ks : iterable of int
        The cut-offs of P@k, R@k and nDCG@k.
    inverse_propensity : array (n_labels,), optional
        Adds PSP@k, PSnDCG@k and PSR@k.
    skip_empty : bool
        Leave out instances without a true label.
    resampling : Resampling, optional
        Number of samples, confidence and seed.
    """
    ks = check_ks(ks)
    weights = None if inverse_propensity is None else check_weights(inverse_propensity)
    ours, theirs = (
        at_k_terms(checked_matches(one, truth, ks, weights, None, skip_empty), ks, weights)
        for one in (a, b)
    )
    return compare_terms(ours, theirs, resampling or Resampling())


def compare_sets(
    a: PredictionsLike,
    b: PredictionsLike,
    truth: TruthLike,
    *,
    skip_empty: bool = False,
    resampling: Resampling | None = None,
) -> Comparison:
    """Compare two predictions of label sets by their micro and example-based metrics."""
    ours, theirs = (set_terms(match_sets(one, truth, skip_empty=skip_empty)) for one in (a, b))
    return compare_terms(ours, theirs, resampling or Resampling())


def compare_terms(
    a: Mapping[str, Term], b: Mapping[str, Term], resampling: Resampling
) -> Comparison:
    """Compare two sets of metrics that were taken over the same instances."""
    names = list(a)
    sizes = [len(terms[names[0]].numerator) for terms in (a, b)]
    if sizes[0] != sizes[1]:
        raise DataError(f"A has {sizes[0]} instances and B {sizes[1]}: they must be the same")
    both = {("a", n): a[n] for n in names} | {("b", n): b[n] for n in names}
    drawn = bootstrap_values({" ".join(key): term for key, term in both.items()}, resampling)
    ends = percentiles(names, drawn[:, : len(names)] - drawn[:, len(names) :], resampling)
    p_values = sign_flip_p_values(a, b, resampling)
    differences = {
        n: Difference(a[n].value, b[n].value, a[n].value - b[n].value, *ends[n], p_values[n])
        for n in names
    }
    return Comparison(differences, sizes[0], resampling)


def sign_flip_p_values(
    a: Mapping[str, Term], b: Mapping[str, Term], resampling: Resampling
) -> dict[str, float]:
    """Two-sided p-value of each metric's difference: (1 + as large) / (1 + samples)."""
    ours, theirs = Columns.of(a), Columns.of(b)
    total = ours.matrix.sum(axis=0) + theirs.matrix.sum(axis=0)
    apart = ours.matrix - theirs.matrix  # (n_instances, n_columns)
    seen = np.abs(ours.values(ours.matrix.sum(axis=0)) - theirs.values(theirs.matrix.sum(axis=0)))
    as_large = np.zeros(len(a), np.int64)
    for flipped in _flips(apart[apart.any(axis=1)], resampling):
        # Swapping keeps the total, so the two sums are (total + flipped) / 2 and the rest of it.
        one, other = (total + flipped) / 2, (total - flipped) / 2
        differences = np.abs(ours.values(one) - ours.values(other))
        as_large += (differences >= seen - ROUNDING).sum(axis=0)
    p_values = (1 + as_large) / (1 + resampling.n_resamples)
    return {name: float(p) for name, p in zip(a, p_values, strict=True)}


def _flips(apart: Values, resampling: Resampling) -> Iterable[Values]:
    """Sums over instances under random signs, (batch, n_columns) at a time."""
    # Not the bootstrap's stream: the p-value must not depend on the interval's draws.
    rng = np.random.default_rng([resampling.random_state, 1])
    n = len(apart)
    with track("permutation test", resampling.n_resamples, "samples") as task:
        for size in batches(n, resampling.n_resamples):
            signs = np.empty((size, n))
            for row in signs:  # a row a call: the draws must not depend on the batch
                row[:] = rng.integers(0, 2, n, np.int8)
            yield (2 * signs - 1) @ apart
            task.advance(size)
