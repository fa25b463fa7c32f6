"""Weights, label ids, counts and numbers: what estimators take beside matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError, DataError
from multitudes.types import FloatArray, IntArray
from multitudes.validation.arrays import REAL, as_array

LARGEST = np.finfo(np.float64).max  # a whole number beyond is not a number to numpy


def checked_weights(weights: npt.ArrayLike | None, n: int, name: str) -> FloatArray | None:
    """Return weights as float32, one per row, none negative or NaN."""
    if weights is None:
        return None
    array = as_array(weights)
    if array is None or array.shape != (n,):
        got = "rows of different lengths" if array is None else f"shape {array.shape}"
        raise DataError(f"{name} must have {n:,} entries, got {got}")
    if array.dtype.kind not in REAL:
        raise DataError(f"{name} must hold numbers, got dtype {array.dtype}")
    with np.errstate(over="ignore"):
        array = array.astype(np.float32)
    if not np.isfinite(array).all() or (array < 0).any():
        raise DataError(f"{name} must hold finite numbers >= 0")
    if not array.any():
        raise DataError(f"{name} is zero everywhere: there is nothing to learn from")
    return array


def checked_label(label: Any, n_labels: int) -> int:
    """Return a label id of the model."""
    return checked_index(label, n_labels, "label")


def checked_index(value: Any, n: int, name: str) -> int:
    """Return one of the numbers from 0 to n - 1."""
    n = checked_count(n, "the number of labels" if name == "label" else "n", at_least=0)
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not 0 <= value < min(n, 2**63):
        what = "an id" if name == "label" else "a whole number"
        raise DataError(f"{name} must be {what} from 0 to {n - 1:,}, got {value!r}")
    return int(value)


def checked_label_ids(labels: npt.ArrayLike, n_labels: int) -> IntArray:
    """Return label ids of the model, in any order; there may be none."""
    n_labels = checked_count(n_labels, "n_labels", at_least=0)
    array = as_array(labels)
    if array is not None and array.size == 0:
        return np.zeros(0, np.int64)
    if array is None or array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(f"labels must be a list of label ids, got {labels!r:.200}")
    outside = array[(array < 0) | (array >= n_labels)]
    if len(outside):
        raise DataError(f"labels must be ids from 0 to {n_labels - 1:,}, got {outside[0]}")
    return array.astype(np.int64)


def checked_removal(labels: npt.ArrayLike, n_labels: int) -> IntArray:
    """Return the labels to remove, ascending and each once; at least one must stay."""
    array = as_array(labels)
    if array is None or array.ndim > 1:
        raise DataError(f"labels must be a list of label ids, got {labels!r:.100}")
    dropped = {checked_label(label, n_labels) for label in np.atleast_1d(array).tolist()}
    if len(dropped) == n_labels:
        raise DataError("all labels would be removed: a model needs at least one")
    return np.array(sorted(dropped), np.int64)


def checked_count(value: Any, name: str, *, at_least: int = 1) -> int:
    """Return a whole number >= `at_least`, of 63 bits at most: arrays hold no larger ones."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not at_least <= value < 1 << 63:
        raise ConfigError(f"{name} must be a whole number >= {at_least}, got {value!r}")
    return int(value)


def checked_number(
    value: Any,
    name: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
) -> float:
    """Return a finite number within limits."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    is_number = is_number and not isinstance(value, np.complexfloating) and abs(value) <= LARGEST
    if (
        not is_number
        or (at_least is not None and value < at_least)
        or (above is not None and value <= above)
        or (at_most is not None and value > at_most)
    ):
        limits = {">=": at_least, ">": above, "<=": at_most}
        allowed = " and ".join(f"{sign} {n}" for sign, n in limits.items() if n is not None)
        if at_least is not None and at_most is not None:
            allowed = f"from {at_least} to {at_most}"
        raise ConfigError(f"{name} must be a number {allowed}, got {value!r}")
    return float(value)
