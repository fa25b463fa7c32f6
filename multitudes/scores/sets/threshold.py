"""Sets by one threshold for all labels."""

from __future__ import annotations

from typing import Self

import numpy as np

from multitudes.scores.outcomes import outcomes
from multitudes.scores.selection import keep, reaching
from multitudes.scores.sets.objective import Metric, best_threshold, check_aim, check_fitted
from multitudes.store.state import State
from multitudes.types import Predictions, Sparse


class GlobalThreshold:
    """Takes the labels whose score reaches a threshold.

    Where scores are true probabilities, no rule has a larger expected micro-F1 than the right
    threshold, which is half of that F1.

    Parameters
    ----------
    metric : "micro" or "example"
        The F1 the threshold is tuned for.
    min_size : int
        So many labels an instance gets in any case, as far as it has candidates.

    Attributes
    ----------
    threshold_ : float

    Examples
    --------
    >>> rule = GlobalThreshold().fit(model.predict(X_val, top_k=50), Y_val)  # doctest: +SKIP
    >>> rule.apply(model.predict(X, top_k=50))  # doctest: +SKIP
    """

    kind = "global-threshold"

    def __init__(self, *, metric: Metric = "micro", min_size: int = 0) -> None:
        check_aim(metric, min_size)
        self.metric: Metric = metric
        self.min_size = min_size

    def fit(self, predictions: Predictions, truth: Sparse) -> Self:
        """Learn from predictions of labeled instances that the model was not trained on.

        Parameters
        ----------
        predictions : Predictions
        truth : CSR (n_instances, n_labels)
        """
        found = outcomes(predictions, truth)
        best = best_threshold(predictions.scores, found, self.metric, min_size=self.min_size)
        self.threshold_ = float(best)
        return self

    def apply(self, predictions: Predictions) -> Predictions:
        """Only the labels of each instance's set, best first."""
        check_fitted(self, "threshold_")
        threshold = np.float64(self.threshold_)
        return keep(predictions, reaching(predictions, threshold, min_size=self.min_size))

    def to_state(self) -> State:
        """The threshold."""
        check_fitted(self, "threshold_")
        return State(
            self.kind,
            {"metric": self.metric, "min_size": self.min_size, "threshold": self.threshold_},
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build a fitted rule again."""
        rule = cls(metric=state.config["metric"], min_size=state.config["min_size"])
        rule.threshold_ = float(state.config["threshold"])
        return rule
