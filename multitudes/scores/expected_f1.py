"""Sets of the size whose expected F1 is largest, by the probabilities of the labels."""

from __future__ import annotations

import math
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError, DataError
from multitudes.scores.filtering import keep
from multitudes.scores.outcomes import Mask, Outcomes, Truth, check_numbers, outcomes
from multitudes.scores.set_f1 import (
    Metric,
    best_threshold,
    check_aim,
    check_fitted,
    check_stored_aim,
    f1_of,
)
from multitudes.store import checks
from multitudes.store.state import State
from multitudes.types import IntArray, Predictions

Values: TypeAlias = npt.NDArray[np.float64]
TILTS = tuple(step / 4 for step in sorted(range(-8, 9), key=abs))
STEEPEST = 600.0  # the largest tilt: its exponential is finite
LARGEST = 1e300
MOST_UNLISTED = 1e6  # true labels beside the listed ones, on average
SLACK = {"micro": 0.0, "example": 0.001}  # F1 that may be lost for emptier sets


class ExpectedF1:
    """Takes as many of the best labels as make the expected F1 of the instance largest.

    Labels are taken to be independent given the instance. The expectation is exact. True labels
    that are not listed count too: their number is taken to be Poisson with the mean seen in `fit`.

    Needs probabilities: see `multitudes.scores.calibration`. The expected F1 of one instance is
    what example-based F1 averages; for micro-F1, and where labels are not independent, `fit` tilts
    all odds by one factor, the best on the data it is given. By itself F1 never speaks for an
    empty set, so `fit` also learns how much F1 a set has to promise.

    Parameters
    ----------
    metric : "micro" or "example"
        The F1 that tilt and least promise are tuned for.
    empty : float
        What F1 counts for an instance that neither has nor gets a label: 0, as in
        `multitudes.metrics.set_scores`, or 1.
    tilt : float, optional
        Added to the log odds of every label; 0 trusts the probabilities. Defaults to the
        best of -2 to 2.
    least : float, optional
        Expected F1 below which an instance gets no label. Defaults to the best; for example-based
        F1, which counts a rightly empty set as 0, the largest that loses at most 0.1 points.
    min_size : int
        The least number of labels that an instance gets, as far as it has candidates.

    Attributes
    ----------
    tilt_, least_ : float
    unlisted_ : float
        Mean number of true labels beside the listed ones.

    References
    ----------
    Ye, Chai, Lee and Chieu, Optimizing F-measures: a tale of two approaches, 2012; Lewis,
    Evaluating and optimizing autonomous text classification systems, 1995.
    """

    kind = "expected-f1"

    def __init__(
        self,
        *,
        metric: Metric = "example",
        empty: float = 0.0,
        tilt: float | None = None,
        least: float | None = None,
        min_size: int = 0,
    ) -> None:
        check_aim(metric, min_size)
        if not (is_number(empty) and 0 <= empty <= 1):
            raise ConfigError(f"empty must lie in [0, 1], got {empty!r}")
        if least is not None and not (is_number(least) and least >= 0):
            raise ConfigError(f"least must be a number >= 0, or None to choose, got {least!r}")
        if tilt is not None and not (is_number(tilt) and abs(tilt) <= STEEPEST):
            raise ConfigError(
                f"tilt must be a number up to {STEEPEST:g}, or None to choose, got {tilt!r}"
            )
        self.metric: Metric = metric
        self.empty = empty
        self.tilt = tilt
        self.least = least
        self.min_size = min_size

    def fit(self, predictions: Predictions, truth: Truth) -> Self:
        """Learn from probabilities of labeled instances that the model was not trained on.

        Parameters
        ----------
        predictions : Predictions
            Scores are probabilities.
        truth : sparse or dense 0/1 matrix (n_instances, n_labels)
        """
        found = outcomes(predictions, truth)
        self.unlisted_ = found.n_unlisted / len(found)
        best = -1.0
        for tilt in TILTS if self.tilt is None else (self.tilt,):
            sizes, values = self._sizes(predictions, tilt)
            least = self._best_least(sizes, values, found) if self.least is None else self.least
            taken = found.is_listed & self._taken(sizes, values, least, predictions.top_k)
            value = f1_of(taken, found, self.metric)
            if value > best + 1e-9:  # smaller tilts come first and win among equals
                self.tilt_, self.least_, best = tilt, least, value
        return self

    def apply(self, predictions: Predictions) -> Predictions:
        """Return only the labels of each instance's set, best first."""
        check_fitted(self, "tilt_")
        sizes, values = self._sizes(predictions, self.tilt_)
        return keep(predictions, self._taken(sizes, values, self.least_, predictions.top_k))

    def expected(self, predictions: Predictions) -> Values:
        """Return the F1 (n_instances,) of the best size of each set, tilt included."""
        check_fitted(self, "tilt_")
        return self._sizes(predictions, self.tilt_)[1]

    def to_state(self) -> State:
        """Tilt, least promise and unlisted labels."""
        check_fitted(self, "tilt_")
        return State(
            self.kind,
            {
                "metric": self.metric,
                "empty": self.empty,
                "min_size": self.min_size,
                "tilt": self.tilt_,
                "least": self.least_,
                "unlisted": self.unlisted_,
            },
        )

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check tilt, least promise and unlisted labels."""
        checks.names(state, config=("metric", "empty", "min_size", "tilt", "least", "unlisted"))
        check_stored_aim(state)
        checks.number(state, "empty", at_least=0, at_most=1)
        checks.number(state, "tilt", at_least=-STEEPEST, at_most=STEEPEST)
        checks.number(state, "least", at_least=0, at_most=LARGEST)
        checks.number(state, "unlisted", at_least=0, at_most=MOST_UNLISTED)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build a fitted rule again."""
        config = state.config
        least = float(config["least"])
        rule = cls(
            metric=config["metric"],
            empty=config["empty"],
            tilt=config["tilt"],
            least=least,
            min_size=config["min_size"],
        )
        rule.tilt_, rule.unlisted_ = float(config["tilt"]), float(config["unlisted"])
        rule.least_ = least
        return rule

    def _taken(self, sizes: IntArray, values: Values, least: float, top_k: int) -> Mask:
        """Places (n_instances, top_k) of the sets; some may hold no label."""
        sizes = np.maximum(np.where(values >= least, sizes, 0), min(self.min_size, top_k))
        return np.asarray(np.arange(top_k) < sizes[:, None], np.bool_)

    def _best_least(self, sizes: IntArray, values: Values, found: Outcomes) -> float:
        """Return the expected F1 above which taking each instance's best set has the largest F1."""
        taken = found.is_listed & self._taken(sizes, values, 0.0, found.is_listed.shape[1])
        if not taken.any():
            return 0.0
        whole = Outcomes(taken, found.is_true & taken, found.n_true)
        scores = np.broadcast_to(values[:, None], taken.shape)  # a set is taken as a whole
        least = best_threshold(
            scores, whole, self.metric, min_size=self.min_size, slack=SLACK[self.metric]
        )
        lowest = values[taken.any(axis=1)].min()
        return float(least if least > lowest else lowest / 2)  # where all are taken, leave room

    def _sizes(self, predictions: Predictions, tilt: float) -> tuple[IntArray, Values]:
        """(number of labels to take, expected F1), each (n_instances,)."""
        from multitudes.kernels.scores import best_sizes  # loads numba

        p = tilted(_probabilities(predictions), tilt)
        n, width = p.shape
        sizes, values = np.empty(n, np.int64), np.empty(n, np.float64)
        among, rest = np.empty((width + 1, width + 1)), np.empty(2 * width + 1)
        none_unlisted = np.exp(-self.unlisted_)
        inverse = mean_inverse(2 * width + 1, self.unlisted_)
        best_sizes(p, inverse, self.empty * none_unlisted, among, rest, sizes, values)
        return sizes, values


def is_number(value: Any) -> bool:
    """Return whether a parameter is a finite number."""
    is_real = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return is_real and math.isfinite(value)


def tilted(p: Values, tilt: float) -> Values:
    """Probabilities whose odds are e^tilt times as large."""
    factor = np.exp(tilt)
    return np.asarray(p * factor / (1 - p + p * factor), np.float64)


def mean_inverse(size: int, mean: float) -> Values:
    """E[1 / (a + M)] for a = 0 .. size - 1 and M Poisson with a mean; 0 at a = 0, not used."""
    from scipy.stats import poisson  # slow to import

    first = int(poisson.ppf(1e-12, mean)) if mean > 0 else 0
    last = int(poisson.isf(1e-12, mean)) + 1 if mean > 0 else 0
    m = np.arange(first, last + 1)
    chance = poisson.pmf(m, mean)
    a = np.arange(1, size)
    return np.concatenate([[0.0], (chance / (a[:, None] + m)).sum(axis=1)])


def _probabilities(predictions: Predictions) -> Values:
    """Scores (n_instances, top_k) as float64, 0 where none is listed; refused outside [0, 1]."""
    is_listed = check_numbers(predictions)
    p = np.where(is_listed, predictions.scores, np.float32(0)).astype(np.float64)
    if p.size and not 0 <= p.min() <= p.max() <= 1:
        worst = p.min() if p.min() < 0 else p.max()
        raise DataError(
            f"expected F1 needs probabilities, got a score of {worst:g}: calibrate the "
            "predictions first (multitudes.scores.calibration)"
        )
    if (np.diff(p, axis=1) > 0).any():
        row = int(np.argwhere(np.diff(p, axis=1) > 0)[0, 0])
        raise DataError(f"predictions, instance {row}: scores must fall from rank to rank")
    return p
