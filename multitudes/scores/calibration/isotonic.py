"""Isotonic calibration: the rising steps that fit best what was true."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from multitudes.errors import NotFittedError
from multitudes.scores.calibration.pairs import scored_pairs, with_probabilities
from multitudes.store.state import State
from multitudes.types import Predictions, Sparse


class IsotonicCalibration:
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

    def fit(self, predictions: Predictions, truth: Sparse) -> Self:
        """Learn from predictions of labeled instances that the model was not trained on.

        Parameters
        ----------
        predictions : Predictions
        truth : CSR (n_instances, n_labels)
        """
        from sklearn.isotonic import IsotonicRegression  # slow to import

        scores, is_true = scored_pairs(predictions, truth)
        # A finite sample makes nothing certain: Laplace's bounds keep 0 and 1 out of reach.
        least = 1 / (len(scores) + 2)
        fitted: Any = IsotonicRegression(y_min=least, y_max=1 - least).fit(scores, is_true)
        self.scores_ = fitted.X_thresholds_.astype(np.float64)
        self.probabilities_ = fitted.y_thresholds_.astype(np.float64)
        return self

    def apply(self, predictions: Predictions) -> Predictions:
        """The same labels in the same order; scores are probabilities."""
        if not hasattr(self, "scores_"):
            raise NotFittedError("this calibration has not been fitted: call fit first")
        return with_probabilities(
            predictions, lambda scores: np.interp(scores, self.scores_, self.probabilities_)
        )

    def to_state(self) -> State:
        """The corners."""
        return State(
            self.kind, arrays={"scores": self.scores_, "probabilities": self.probabilities_}
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build a fitted calibration again."""
        calibration = cls()
        calibration.scores_ = np.array(state.arrays["scores"])
        calibration.probabilities_ = np.array(state.arrays["probabilities"])
        return calibration
