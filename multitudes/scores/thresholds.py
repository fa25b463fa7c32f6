"""Sets by a threshold: one for all labels, or one for each that is drawn towards the common one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError, DataError
from multitudes.scores.filtering import keep, reaching
from multitudes.scores.label_pairs import LabelPairs
from multitudes.scores.outcomes import Outcomes, Truth, outcomes
from multitudes.scores.set_f1 import (
    Metric,
    best_threshold,
    check_aim,
    check_fitted,
    check_stored_aim,
    f1_of,
    folds,
)
from multitudes.store import checks
from multitudes.store.state import State
from multitudes.types import Predictions
from multitudes.validation import checked_predictions

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, np.inf)


class GlobalThreshold:
    """Takes the labels whose score reaches a threshold.

    Where scores are true probabilities, no rule has a larger expected micro-F1 than the right
    threshold, which is half of that F1.

    Parameters
    ----------
    metric : "micro" or "example"
        The F1 the threshold is tuned for.
    min_size : int
        The least number of labels that an instance gets, as far as it has candidates.

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

    def fit(self, predictions: Predictions, truth: Truth) -> Self:
        """Learn from predictions of labeled instances that the model was not trained on.

        Parameters
        ----------
        predictions : Predictions
        truth : sparse or dense 0/1 matrix (n_instances, n_labels)
        """
        found = outcomes(predictions, truth)
        best = best_threshold(predictions.scores, found, self.metric, min_size=self.min_size)
        self.threshold_ = float(best)
        return self

    def apply(self, predictions: Predictions) -> Predictions:
        """Return only the labels of each instance's set, best first."""
        check_fitted(self, "threshold_")
        threshold = np.float64(self.threshold_)
        return keep(predictions, reaching(predictions, threshold, min_size=self.min_size))

    def to_state(self) -> State:
        """Return the threshold."""
        check_fitted(self, "threshold_")
        return State(
            self.kind,
            {"metric": self.metric, "min_size": self.min_size, "threshold": self.threshold_},
        )

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the threshold; an infinite one takes none, or all."""
        checks.names(state, config=("metric", "min_size", "threshold"))
        check_stored_aim(state)
        checks.number(state, "threshold")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build a fitted rule again."""
        rule = cls(metric=state.config["metric"], min_size=state.config["min_size"])
        rule.threshold_ = float(state.config["threshold"])
        return rule


class LabelThresholds:
    """Takes a label whose score reaches the threshold of that label.

    A label's own threshold is the best for F1 on the n pairs (instance, label) that it decides
    about. The one in use is ``(n * own + strength * common) / (n + strength)``, so that a label
    hardly ever seen has the common one. Thresholds are averaged, so scores should be
    probabilities: see `multitudes.scores.calibration`.

    Parameters
    ----------
    metric : "micro" or "example"
        The F1 that thresholds are tuned for.
    strength : float, optional
        Weight of the common threshold, in pairs; infinite leaves only that one. Defaults to the
        best by cross-validation over instances, of 1 to 300 and infinite.
    min_size : int
        The least number of labels that an instance gets, as far as it has candidates.

    Attributes
    ----------
    thresholds_ : float64 array (n_labels,)
    common_ : float
    strength_ : float
    """

    kind = "label-thresholds"

    def __init__(
        self, *, metric: Metric = "micro", strength: float | None = None, min_size: int = 0
    ) -> None:
        check_aim(metric, min_size)
        if strength is not None and not strength >= 0:
            raise ConfigError(f"strength must be >= 0 pairs, or None to choose, got {strength!r}")
        self.metric: Metric = metric
        self.strength = strength
        self.min_size = min_size

    def fit(self, predictions: Predictions, truth: Truth) -> Self:
        """Learn from predictions of labeled instances that the model was not trained on.

        Parameters
        ----------
        predictions : Predictions
        truth : sparse or dense 0/1 matrix (n_instances, n_labels)
        """
        predictions = checked_predictions(predictions)
        found = outcomes(predictions, truth)
        chosen = self.strength
        if chosen is None:
            chosen = self._best_strength(predictions, found)
        learned = self._learned(predictions, found)
        self.strength_ = float(chosen)
        self.common_ = float(learned.common)
        self.thresholds_ = learned.shrunk(self.strength_)
        return self

    def apply(self, predictions: Predictions) -> Predictions:
        """Return only the labels of each instance's set, best first."""
        check_fitted(self, "thresholds_")
        predictions = checked_predictions(predictions)
        if predictions.n_labels != len(self.thresholds_):
            raise DataError(
                f"this rule has thresholds of {len(self.thresholds_)} labels, the predictions are "
                f"over {predictions.n_labels}: fit it on predictions of the same model"
            )
        return keep(predictions, reaching(predictions, self.thresholds_, min_size=self.min_size))

    def to_state(self) -> State:
        """Return the thresholds."""
        check_fitted(self, "thresholds_")
        infinite = np.isinf(self.strength_)
        config = {
            "metric": self.metric,
            "min_size": self.min_size,
            "strength": None if infinite else self.strength_,  # JSON knows no infinity
            "common": self.common_,
        }
        return State(self.kind, config, {"thresholds": self.thresholds_})

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the thresholds."""
        checks.names(
            state, config=("metric", "min_size", "strength", "common"), arrays=("thresholds",)
        )
        check_stored_aim(state)
        if state.config["strength"] is not None:
            checks.number(state, "strength", at_least=0)
        checks.number(state, "common")
        thresholds = checks.array(state, "thresholds", "float64", (None,))
        checks.between(thresholds, "thresholds", -np.inf, np.inf)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build a fitted rule again."""
        config, given = state.config, state.config["strength"]
        strength = float(np.inf if given is None else given)
        rule = cls(metric=config["metric"], strength=strength, min_size=config["min_size"])
        rule.strength_, rule.common_ = strength, float(config["common"])
        rule.thresholds_ = np.array(state.arrays["thresholds"])
        return rule

    def _learned(self, predictions: Predictions, found: Outcomes) -> _Learned:
        """Own thresholds of all labels."""
        scores = predictions.scores
        common = float(best_threshold(scores, found, self.metric, min_size=self.min_size))
        pairs = LabelPairs.of(predictions, found, min_size=self.min_size)
        first = pairs.cuts_at(common)
        cuts = pairs.best_cuts(first, self.metric)
        moved = cuts != first
        own = np.where(moved, pairs.thresholds(cuts), common)
        # A label that stays where it is agrees with the common threshold: nothing to weigh.
        weight = np.where(moved, np.maximum(cuts, first), 0).astype(np.float64)
        return _Learned(common, own, weight)

    def _best_strength(self, predictions: Predictions, found: Outcomes) -> float:
        """Return the strength with the best cross-validated F1; the stronger among equals."""
        taken = np.zeros((len(STRENGTHS), *predictions.labels.shape), bool)
        for learned_on, checked_on in folds(len(predictions)):
            if not found.is_listed[learned_on].any():
                return float(np.inf)
            learned = self._learned(predictions[learned_on], found.take(learned_on))
            checked = predictions[checked_on]
            for place, strength in enumerate(STRENGTHS):
                limits = learned.shrunk(strength)
                taken[place, checked_on] = reaching(checked, limits, min_size=self.min_size)
        values = [f1_of(one, found, self.metric) for one in taken]
        best = max(range(len(STRENGTHS)), key=lambda place: (values[place], STRENGTHS[place]))
        return STRENGTHS[best]


@dataclass(frozen=True)
class _Learned:
    """Own thresholds of all labels, before they are drawn towards the common one."""

    common: float
    own: npt.NDArray[np.float64]  # (n_labels,)
    weight: npt.NDArray[np.float64]  # (n_labels,): pairs each was decided on

    def shrunk(self, strength: float) -> npt.NDArray[np.float64]:
        """Thresholds (n_labels,) between own and common."""
        if np.isinf(strength):
            return np.full(len(self.own), self.common)
        share = self.weight / np.maximum(self.weight + strength, 1e-9)
        return np.asarray(self.common + share * (self.own - self.common), np.float64)
