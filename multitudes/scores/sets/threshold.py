"""Sets by one threshold for all labels."""

from __future__ import annotations

from typing import Self

import numpy as np

from multitudes.errors import NotFittedError
from multitudes.scores.outcomes import outcomes
from multitudes.scores.selection import keep
from multitudes.scores.sets.objective import Metric, best_threshold, check_metric
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

    Attributes
    ----------
    threshold_ : float

    Examples
    --------
    >>> rule = GlobalThreshold().fit(model.predict(X_val, top_k=50), Y_val)  # doctest: +SKIP
    >>> rule.apply(model.predict(X, top_k=50))  # doctest: +SKIP
    """

    kind = "global-threshold"

    def __init__(self, *, metric: Metric = "micro") -> None:
        check_metric(metric)
        self.metric: Metric = metric

    def fit(self, predictions: Predictions, truth: Sparse) -> Self:
        """Learn from predictions of labelled instances that the model was not trained on.

        Parameters
        ----------
        predictions : Predictions
        truth : CSR (n_instances, n_labels)
        """
        found = outcomes(predictions, truth)
        self.threshold_ = float(best_threshold(predictions.scores, found, self.metric))
        return self

    def apply(self, predictions: Predictions) -> Predictions:
        """Only the labels of each instance's set, best first."""
        if not hasattr(self, "threshold_"):
            raise NotFittedError("this rule has not been fitted: call fit first")
        # In float64: rounded to float32, a threshold between two scores could meet the lower one.
        return keep(predictions, predictions.scores >= np.float64(self.threshold_))

    def to_state(self) -> State:
        """The threshold."""
        return State(self.kind, {"metric": self.metric, "threshold": self.threshold_})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build a fitted rule again."""
        rule = cls(metric=state.config["metric"])
        rule.threshold_ = float(state.config["threshold"])
        return rule
