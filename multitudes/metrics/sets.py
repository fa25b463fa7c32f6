"""Metrics of label sets: micro, macro, weighted and example-based precision, recall and F1.

For models that decide how many labels an instance gets; rank and score play no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.metrics.inputs import (
    PredictionsLike,
    TruthLike,
    is_matrix,
    label_space,
    list_matrix,
    ranked_labels,
    truth_matrix,
)
from multitudes.metrics.macro import LabelCounts, Over, averaged
from multitudes.metrics.matches import Values, find_matches
from multitudes.metrics.names import by_id
from multitudes.metrics.terms import Term, ratio, total
from multitudes.types import Predictions, Sparse
from multitudes.validation import checked_number

Average = Literal["micro", "macro", "weighted", "example"]


class SetScores(NamedTuple):
    """Precision, recall and F1 under one way of averaging."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class SetMatches:
    """Predicted sets held against true sets.

    Parameters
    ----------
    n_hits, n_predicted, n_true : float64 arrays (n_instances,)
        Sizes of each instance's intersection, predicted set and true set.
    per_label : LabelCounts
        The same by label.
    """

    n_hits: Values
    n_predicted: Values
    n_true: Values
    per_label: LabelCounts


def set_scores(
    predictions: PredictionsLike,
    truth: TruthLike,
    *,
    average: Average = "micro",
    zero_division: float = 0.0,
    over: Over = "occurring",
) -> SetScores:
    """Precision, recall and F1 of predicted label sets.

    Parameters
    ----------
    predictions : Predictions, 0/1 matrix, or lists of labels, names or ids
        Every label of a row is predicted; of a matrix, every value other than 0.
    truth : 0/1 matrix (n_instances, n_labels), sparse or dense, or lists of labels
    average : "micro", "macro", "weighted" or "example"
        Over all (instance, label) pairs; over labels; over labels weighted by how often each is
        true; over instances.
    zero_division : float
        What a label or instance counts whose denominator is 0, e.g. the recall of an instance
        without true labels.
    over : "occurring", "true" or "all"
        The labels of a macro average: those that occur in the truth or in the predictions, those
        that occur in the truth, or the whole label space.
    """
    if average not in get_args(Average):
        raise ConfigError(f"average must be one of {list(get_args(Average))}, got {average!r}")
    zero_division = checked_number(zero_division, "zero_division")
    matches = match_sets(predictions, truth)
    if average in ("micro", "example"):
        terms = set_terms(matches, zero_division=zero_division)
        values = {
            name: term.value if term.denominator.any() else zero_division
            for name, term in terms.items()
        }
    else:
        values = set_label_values(matches, zero_division=zero_division, over=over)
    return SetScores(*(values[f"{average}-{name}"] for name in ("P", "R", "F1")))


def match_sets(
    predictions: PredictionsLike, truth: TruthLike, *, skip_empty: bool = False
) -> SetMatches:
    """Intersect each instance's predicted labels with its true ones."""
    predictions, truth = by_id(predictions, truth)
    n_labels = label_space(predictions, truth)
    T = truth_matrix(truth, n_labels=n_labels)
    P = _predicted_sets(predictions, n_labels)
    if P.shape[0] != T.shape[0]:
        raise DataError(
            f"predictions have {P.shape[0]} instances and the truth {T.shape[0]}: "
            "they must be the same instances in the same order"
        )
    if P.shape[0] == 0:
        raise DataError("there is nothing to evaluate: predictions and truth have 0 instances")
    if skip_empty:
        rows = np.flatnonzero(np.diff(T.indptr))
        if len(rows) == 0:
            raise DataError("no instance has a true label: with skip_empty nothing is left")
        P, T = P[rows], T[rows]
    hits = _ones(P).multiply(_ones(T)).tocsr()
    n_hits, n_predicted, n_true = (
        np.diff(matrix.indptr).astype(np.float64) for matrix in (hits, P, T)
    )
    counts = (np.bincount(matrix.indices, minlength=n_labels) for matrix in (hits, P, T))
    return SetMatches(n_hits, n_predicted, n_true, LabelCounts(*counts))


def set_terms(matches: SetMatches, *, zero_division: float = 0.0) -> dict[str, Term]:
    """Return the micro and example-based metrics, each as a ratio of sums over instances."""
    hits, predicted, true = matches.n_hits, matches.n_predicted, matches.n_true
    ones = np.ones(len(hits))
    sizes = predicted + true
    return {
        "micro-P": Term(hits, predicted),
        "micro-R": Term(hits, true),
        "micro-F1": Term(2 * hits, sizes),
        "example-P": Term(ratio(hits, predicted, empty=zero_division), ones),
        "example-R": Term(ratio(hits, true, empty=zero_division), ones),
        "example-F1": Term(ratio(2 * hits, sizes, empty=zero_division), ones),
    }


def set_label_values(
    matches: SetMatches, *, zero_division: float = 0.0, over: Over = "occurring"
) -> dict[str, float]:
    """Return the macro and weighted metrics, which are means over labels."""
    counts = matches.per_label
    values: dict[str, float] = {}
    for average, weights in (("macro", averaged(counts, over)), ("weighted", counts.true)):
        for name, per_label in (
            ("P", counts.precision(empty=zero_division)),
            ("R", counts.recall(empty=zero_division)),
            ("F1", counts.f1(empty=zero_division)),
        ):
            mean = ratio(total(weights * per_label), weights.sum(), empty=zero_division)
            values[f"{average}-{name}"] = float(mean)
    return values


def _predicted_sets(predictions: PredictionsLike, n_labels: int) -> sp.csr_array[Any]:
    """Predicted sets as a canonical CSR array."""
    if not isinstance(predictions, Predictions):
        if is_matrix(predictions):
            return truth_matrix(predictions, n_labels=n_labels)
        return list_matrix(predictions, n_labels=n_labels, name="predictions")
    labels = ranked_labels(predictions, top_k=predictions.top_k, n_labels=n_labels)
    nobody = sp.csr_array((len(labels), n_labels), dtype=np.float32)
    find_matches(labels, nobody)  # refuses a row that repeats a label
    present = labels >= 0
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    data = np.ones(int(indptr[-1]), np.float32)
    matrix = sp.csr_array((data, labels[present], indptr), shape=(len(labels), n_labels))
    matrix.sort_indices()
    return matrix


def _ones(matrix: Sparse) -> sp.csr_array[Any]:
    """Return the pattern of a matrix: a product of two must not round to 0."""
    data = np.ones(matrix.nnz, np.float32)
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
