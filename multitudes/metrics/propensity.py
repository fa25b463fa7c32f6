"""Propensities: how likely a relevant label is to have been observed, by its frequency.

The model of Jain, Prabhu and Varma (KDD 2016): rare labels are missing from the truth more often
than frequent ones, so finding one counts for more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError, DataError, suggestion
from multitudes.metrics.inputs import TruthLike, label_space, truth_matrix
from multitudes.validation import checked_number
from multitudes.validation.arrays import REAL, as_array

# (a, b) by data set, as published with the public benchmarks; "default" for all others.
PROPENSITY_PRESETS: dict[str, tuple[float, float]] = {
    "default": (0.55, 1.5),
    "wikipedia-500k": (0.5, 0.4),
    "wikilshtc-325k": (0.5, 0.4),
    "amazon": (0.6, 2.6),
    "amazon-670k": (0.6, 2.6),
    "amazon-3m": (0.6, 2.6),
}
"""The constants (a, b) of propensity for public data sets, by name."""


MAX_CONSTANT = 100.0  # those of data sets are around 1; powers of larger ones are no numbers


def propensity_preset(name: str) -> tuple[float, float]:
    """Return the constants (a, b) of a known data set, whatever the case of its name."""
    try:
        return PROPENSITY_PRESETS[str(name).lower()]
    except KeyError:
        known = suggestion(str(name).lower(), PROPENSITY_PRESETS)
        raise ConfigError(f"no propensity preset {name!r}: {known}") from None


def inverse_propensity(
    Y_train: TruthLike, *, a: float = 0.55, b: float = 1.5
) -> npt.NDArray[np.float64]:
    """Inverse propensity of each label, from how often it occurs in training.

    With N training instances, n_l of them with label l::

        1 / p_l = 1 + C (n_l + b)^-a,    C = (ln N - 1) (b + 1)^a

    Parameters
    ----------
    Y_train : 0/1 matrix (n_instances, n_labels), sparse or dense, or lists of label ids
        The *training* labels, before any split for validation.
    a, b : float
        Constants of the data set; see `propensity_preset`.

    Returns
    -------
    float64 array (n_labels,)
        At least 1, largest for labels never seen in training.
    """
    a = checked_number(a, "a", above=0, at_most=MAX_CONSTANT)
    b = checked_number(b, "b", above=0, at_most=MAX_CONSTANT)
    Y = truth_matrix(Y_train, n_labels=label_space([], Y_train))
    n_instances = Y.shape[0]
    if n_instances < 3:
        raise DataError(
            f"propensities need at least 3 training instances, got {n_instances}: "
            "ln N - 1 is negative below that, and a propensity would exceed 1"
        )
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    c = (np.log(n_instances) - 1) * (b + 1) ** a
    return np.asarray(1 + c * (counts + b) ** -a, np.float64)


def check_weights(weights: Any) -> npt.NDArray[np.float64]:
    """Inverse propensities as a float64 vector, or a DataError."""
    given = as_array(weights)
    if given is None or given.dtype.kind not in REAL:
        raise DataError("inverse_propensity must be one number per label")
    checked = given.astype(np.float64)
    if checked.ndim != 1:
        raise DataError(
            f"inverse_propensity must be one number per label, got an array of shape "
            f"{checked.shape}: use inverse_propensity(Y_train)"
        )
    bad = np.flatnonzero(~(np.isfinite(checked) & (checked > 0)))
    if len(bad):
        raise DataError(
            f"inverse_propensity of label {bad[0]} is {checked[bad[0]]}: it must be above 0 "
            "and finite"
        )
    return checked
