"""Scores to probabilities, learned on labeled instances that the model was not trained on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError, NotFittedError, StoreError
from multitudes.scores.outcomes import Truth, check_numbers, outcomes
from multitudes.store import checks
from multitudes.store.state import State
from multitudes.types import NO_SCORE, Predictions
from multitudes.validation.arrays import as_array

Values = npt.NDArray[np.float64]
Link = Literal["identity", "logit"]
LARGEST = 1e300  # of a slope or an offset: times and plus a score it stays finite
NEAREST = 1e-6  # how near a score may come to 0 and 1 before its logit


class _Calibration(ABC):
    """A rising function from scores to probabilities; one function serves all labels."""

    _learned: str  # an attribute that `fit` sets

    def fit(self, predictions: Predictions, truth: Truth) -> Self:
        """Learn from predictions of labeled instances that the model was not trained on.

        Parameters
        ----------
        predictions : Predictions
        truth : sparse or dense 0/1 matrix (n_instances, n_labels)
        """
        found = outcomes(predictions, truth)
        scores = predictions.scores[found.is_listed].astype(np.float64)
        self._learn(scores, found.is_true[found.is_listed].astype(np.float64))
        return self

    def apply(self, predictions: Predictions) -> Predictions:
        """Return the same labels in the same order; scores are probabilities."""
        self._check_fitted()
        is_listed = check_numbers(predictions)
        out = np.full(predictions.scores.shape, NO_SCORE, np.float32)
        listed = predictions.scores[is_listed].astype(np.float64)
        out[is_listed] = self._probability(listed).clip(0, 1)
        # Rounding may lift a lower score by one unit in the last place; ranks must not turn round.
        np.minimum.accumulate(out, axis=1, out=out)
        return Predictions(predictions.labels, out, predictions.n_labels)

    def probabilities(self, scores: npt.ArrayLike) -> Values:
        """Return the probability of each of some scores, in an array of any shape."""
        self._check_fitted()
        array = as_array(scores)
        if array is None or array.dtype.kind not in "fiub":
            got = type(scores).__name__ if array is None else f"an array of {array.dtype}"
            raise DataError(f"scores must be an array of numbers, got {got}")
        return self._probability(array.astype(np.float64)).clip(0, 1)

    def _check_fitted(self) -> None:
        if not hasattr(self, self._learned):
            raise NotFittedError("this calibration has not been fitted: call fit first")

    @abstractmethod
    def _learn(self, scores: Values, is_true: Values) -> None:
        """Learn from the score (n_pairs,) of every listed label, and 1 where it is true."""

    @abstractmethod
    def _probability(self, scores: Values) -> Values:
        """Turn scores (n_pairs,) into numbers that are then brought into [0, 1]."""


class IsotonicCalibration(_Calibration):
    """Turns scores of any scale into probabilities, by a rising function without a set form.

    One function serves all labels. It is made for a thousand labeled instances or more; with
    fewer, `TemperatureCalibration` has less to learn.

    Attributes
    ----------
    scores_, probabilities_ : float64 arrays (n_points,)
        Corners of the function; straight between them, level outside.

    References
    ----------
    Zadrozny and Elkan, Transforming classifier scores into accurate multiclass probability
    estimates, 2002.

    Examples
    --------
    >>> calibration = IsotonicCalibration().fit(model.predict(X_val, top_k=50), Y_val)
    ... # doctest: +SKIP
    >>> calibration.apply(model.predict(X, top_k=5)).scores  # doctest: +SKIP
    """

    kind = "isotonic-calibration"

    _learned = "scores_"

    def _learn(self, scores: Values, is_true: Values) -> None:
        from sklearn.isotonic import IsotonicRegression  # slow to import

        # A finite sample makes nothing certain: Laplace's bounds keep 0 and 1 out of reach.
        least = 1 / (len(scores) + 2)
        fitted: Any = IsotonicRegression(y_min=least, y_max=1 - least).fit(scores, is_true)
        self.scores_ = fitted.X_thresholds_.astype(np.float64)
        self.probabilities_ = fitted.y_thresholds_.astype(np.float64)

    def _probability(self, scores: Values) -> Values:
        return np.asarray(np.interp(scores, self.scores_, self.probabilities_), np.float64)

    def to_state(self) -> State:
        """Return the corners."""
        return State(
            self.kind, arrays={"scores": self.scores_, "probabilities": self.probabilities_}
        )

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check that the corners are those of a rising function to probabilities."""
        checks.names(state, config=(), arrays=("scores", "probabilities"))
        scores = checks.array(state, "scores", "float64", (None,))
        probabilities = checks.array(state, "probabilities", "float64", (len(scores),))
        if not len(scores):
            raise StoreError("a calibration has at least one corner")
        checks.finite(scores, "scores")
        checks.rising(scores, "scores")
        checks.between(probabilities, "probabilities", 0, 1)
        checks.rising(probabilities, "probabilities")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build a fitted calibration again."""
        calibration = cls()
        calibration.scores_ = np.array(state.arrays["scores"])
        calibration.probabilities_ = np.array(state.arrays["probabilities"])
        return calibration


class TemperatureCalibration(_Calibration):
    """Probability = sigmoid(link(score) / temperature + offset).

    The link is the score itself, or its logit where all scores lie in [0, 1], whichever fits
    better. Two numbers are learned, so a few hundred instances are enough; what no logistic curve
    can follow, `IsotonicCalibration` can.

    Attributes
    ----------
    slope_, offset_ : float
        The slope is 1 / temperature, and at least 0.
    link_ : "identity" or "logit"

    References
    ----------
    Platt, Probabilistic outputs for support vector machines, 1999 (curve and smoothed targets);
    Guo et al., On calibration of modern neural networks, 2017 (temperature).
    """

    kind = "temperature-calibration"

    _learned = "slope_"

    def _learn(self, scores: Values, is_true: Values) -> None:
        links: list[Link] = ["identity"]
        if scores.min() >= 0 and scores.max() <= 1:
            links.append("logit")
        # Platt's targets: without them a separable sample asks for an infinite slope.
        n_true = is_true.sum()
        n_false = len(is_true) - n_true
        targets = np.where(is_true > 0, (n_true + 1) / (n_true + 2), 1 / (n_false + 2))
        fits = {link: _fit_curve(_linked(scores, link), targets) for link in links}
        self.link_: Link = min(fits, key=lambda link: fits[link][2])
        self.slope_, self.offset_, _ = fits[self.link_]

    def _probability(self, scores: Values) -> Values:
        from scipy.special import expit

        margin = self.slope_ * _linked(scores, self.link_) + self.offset_
        return np.asarray(expit(margin), np.float64)

    @property
    def temperature_(self) -> float:
        """1 / slope; infinite where scores say nothing about the truth."""
        return 1 / self.slope_ if self.slope_ > 0 else np.inf

    def to_state(self) -> State:
        """Return the curve."""
        return State(self.kind, {"slope": self.slope_, "offset": self.offset_, "link": self.link_})

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check that the curve rises."""
        checks.names(state, config=("slope", "offset", "link"))
        checks.number(state, "slope", at_least=0, at_most=LARGEST)
        checks.number(state, "offset", at_least=-LARGEST, at_most=LARGEST)
        checks.choice(state, "link", get_args(Link))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build a fitted calibration again."""
        calibration = cls()
        calibration.slope_ = float(state.config["slope"])
        calibration.offset_ = float(state.config["offset"])
        calibration.link_ = state.config["link"]
        return calibration


def _linked(scores: Values, link: Link) -> Values:
    """Scores (n_pairs,) on the scale of the curve."""
    if link == "identity":
        return scores
    from scipy.special import logit  # slow to import

    return np.asarray(logit(scores.clip(NEAREST, 1 - NEAREST)), np.float64)


def _fit_curve(z: Values, targets: Values) -> tuple[float, float, float]:
    """(slope >= 0, offset, log loss) of the likeliest curve through z and targets (n_pairs,)."""
    from scipy.optimize import minimize  # slow to import
    from scipy.special import expit, logit

    center, spread = z.mean(), z.std() or 1.0
    x = (z - center) / spread  # one scale for both numbers, whatever the scores' own is

    def loss(curve: Values) -> tuple[float, Values]:
        a, b = curve
        margin = a * x + b
        # log(1 + e^m) - t m, and its derivative sigmoid(m) - t
        excess = expit(margin) - targets
        value = np.mean(np.logaddexp(0, margin) - targets * margin)
        return float(value), np.array([np.mean(excess * x), np.mean(excess)])

    start = np.array([1.0, logit(targets.mean())])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None), (None, None)])
    slope = float(found.x[0] / spread)
    return slope, float(found.x[1] - slope * center), float(found.fun)
