"""Temperature calibration: a logistic curve with a temperature and an offset."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, logit

from multitudes.errors import NotFittedError
from multitudes.scores.calibration.pairs import Values, scored_pairs, with_probabilities
from multitudes.store.state import State
from multitudes.types import Predictions, Sparse

Link = Literal["identity", "logit"]
NEAREST = 1e-6  # how near a score may come to 0 and 1 before its logit


class TemperatureCalibration:
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

    def fit(self, predictions: Predictions, truth: Sparse) -> Self:
        """Learn from predictions of labeled instances that the model was not trained on.

        Parameters
        ----------
        predictions : Predictions
        truth : CSR (n_instances, n_labels)
        """
        scores, is_true = scored_pairs(predictions, truth)
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
        return self

    @property
    def temperature_(self) -> float:
        """1 / slope; infinite where scores say nothing about the truth."""
        return 1 / self.slope_ if self.slope_ > 0 else np.inf

    def apply(self, predictions: Predictions) -> Predictions:
        """The same labels in the same order; scores are probabilities."""
        if not hasattr(self, "slope_"):
            raise NotFittedError("this calibration has not been fitted: call fit first")
        return with_probabilities(
            predictions,
            lambda scores: expit(self.slope_ * _linked(scores, self.link_) + self.offset_),
        )

    def to_state(self) -> State:
        """The curve."""
        return State(self.kind, {"slope": self.slope_, "offset": self.offset_, "link": self.link_})

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
    return np.asarray(logit(scores.clip(NEAREST, 1 - NEAREST)), np.float64)


def _fit_curve(z: Values, targets: Values) -> tuple[float, float, float]:
    """(slope >= 0, offset, log loss) of the likeliest curve through z and targets (n_pairs,)."""
    center, spread = z.mean(), z.std() or 1.0
    x = (z - center) / spread  # one scale for both numbers, whatever the scores' own is

    def loss(curve: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
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
