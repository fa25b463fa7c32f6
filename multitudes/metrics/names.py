"""Labels by name: predictions and truth that name labels, given common ids.

A list of names is a ranking, best first. (name, score) pairs, and `Tag` objects, are put in order
of score; those of equal score stay in the order given, because names have no smaller id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitudes.errors import DataError
from multitudes.metrics.inputs import (
    PredictionsLike,
    TruthLike,
    is_matrix,
    label_rows,
    read_scores,
    split_pairs,
)
from multitudes.types import Predictions


class _Growing(dict[str, int]):
    """A new name gets the next id."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number


def by_id(
    predictions: PredictionsLike, truth: TruthLike, weights: Any = None
) -> tuple[PredictionsLike, TruthLike]:
    """Return predictions and truth with ids in the place of names; as they are without names.

    Parameters
    ----------
    predictions, truth
        See `multitudes.metrics.inputs`; lists may hold names.
    weights : array (n_labels,), optional
        Anything with one entry per label id, which cannot go with names.
    """
    predictions, truth = as_rows(predictions), as_rows(truth)
    name, other = _first_name(predictions, "predictions"), _first_name(truth, "truth")
    if name is None and other is None:
        return predictions, truth
    _check_kinds(predictions, truth, name, other)
    if weights is not None:
        raise DataError(
            f"labels are named here, such as {name or other!r}, and inverse_propensity and "
            "frequency_bins go by label id: use Tagger.evaluate(..., train=...) for names"
        )
    index = _Growing()
    ranked = [
        _ranked(row, i, index) for i, row in enumerate(label_rows(predictions, "predictions"))
    ]
    true = [_true(row, i, index) for i, row in enumerate(label_rows(truth, "truth"))]
    return ranked, true


def as_rows(value: Any) -> Any:
    """Return a table as an array, and a column of lists as a list; anything else as it is."""
    if isinstance(value, (Predictions, str, bytes, Mapping)) or is_matrix(value):
        return value
    if getattr(value, "ndim", 1) == 2 and hasattr(value, "to_numpy"):
        return value.to_numpy()
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OU":
        return value
    return list(value) if hasattr(value, "__iter__") and hasattr(value, "__len__") else value


def _first_name(rows: Any, what: str) -> str | None:
    """Return the first label of lists if it is a name."""
    if not isinstance(rows, list):
        return None
    for number, row in enumerate(rows):
        entries, has_scores = split_pairs(row, f"{what}, instance {number}")
        if entries:
            label = entries[0][0] if has_scores else entries[0]
            return str(label) if isinstance(label, str) else None
    return None


def _check_kinds(predictions: Any, truth: Any, name: str | None, other: str | None) -> None:
    """Refuse names on one side and ids on the other."""
    for found, sides, rows in (
        (name, ("predictions", "truth"), truth),
        (other, ("truth", "predictions"), predictions),
    ):
        if not (isinstance(rows, Predictions) or is_matrix(rows)):
            label_rows(rows, sides[1])  # neither names nor ids: it says what is expected
        is_ids = not isinstance(rows, list) or any(len(row) for row in rows)
        if found is not None and (name is None or other is None) and is_ids:
            raise DataError(
                f"labels of the {sides[0]} are names, such as {found!r}, and those of the "
                f"{sides[1]} are ids: give both as names, or both as ids"
            )


def _ranked(row: Any, number: int, index: dict[str, int]) -> list[int]:
    where = f"predictions, instance {number}"
    entries, has_scores = split_pairs(row, where)
    labels = entries
    if has_scores:
        labels = [entry[0] for entry in entries]
        scores = read_scores(entries, where)
        labels = [labels[i] for i in sorted(range(len(labels)), key=lambda i: -scores[i])]
    names = _checked(labels, where)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{where}: label {twice!r} is listed twice: list each label once")
    return [index[name] for name in names]


def _true(row: Any, number: int, index: dict[str, int]) -> list[int]:
    where = f"truth, instance {number}"
    entries, has_scores = split_pairs(row, where)
    labels = [entry[0] for entry in entries] if has_scores else entries
    return sorted({index[name] for name in _checked(labels, where)})


def _checked(labels: list[Any], where: str) -> list[str]:
    for label in labels:
        if not isinstance(label, str):
            raise DataError(f"{where}: {label!r} is not a label name, and others are: use names")
    return labels
