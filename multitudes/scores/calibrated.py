"""A calibration and a set rule in one: what turns a ranker's scores into probabilities and sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from multitudes.config import Config, setting
from multitudes.errors import NotFittedError, StoreError, counted
from multitudes.scores.calibration import IsotonicCalibration, TemperatureCalibration
from multitudes.scores.expected_f1 import ExpectedF1
from multitudes.scores.outcomes import Truth
from multitudes.scores.reliability import reliability
from multitudes.scores.set_f1 import Metric, folds
from multitudes.scores.thresholds import GlobalThreshold, LabelThresholds
from multitudes.store import checks
from multitudes.store.state import State
from multitudes.types import NO_SCORE, Predictions, Sparse
from multitudes.validation import checked_predictions, checked_truth

Calibration: TypeAlias = IsotonicCalibration | TemperatureCalibration
Rule: TypeAlias = GlobalThreshold | LabelThresholds | ExpectedF1

CALIBRATIONS: dict[str, type[Calibration]] = {
    "isotonic": IsotonicCalibration,
    "temperature": TemperatureCalibration,
}
RULES: dict[str, type[Rule]] = {
    "threshold": GlobalThreshold,
    "label-thresholds": LabelThresholds,
    "expected-f1": ExpectedF1,
}
DEFAULT_RULE = "threshold"
REPORTED_RANKS = 5  # the labels somebody looks at; over all candidates the error is always small


@dataclass(frozen=True)
class CalibrationConfig(Config):
    """How probabilities and label sets are learned on validation data."""

    method: str = setting(
        "isotonic",
        "How scores become probabilities: isotonic (any rising function) or temperature (a "
        "logistic curve, for few instances).",
        choices=tuple(CALIBRATIONS),
    )
    sets: str | None = setting(
        None,
        "Which labels make a set: threshold (one for all), label-thresholds, or expected-f1 (the "
        "size with the largest expected F1). By default threshold, or what a model generates.",
        choices=tuple(RULES),
    )
    metric: str = setting(
        "micro",
        "The F1 that sets are tuned for: micro (over pairs) or example (mean over instances).",
        choices=("micro", "example"),
    )
    min_size: int = setting(
        0, "Labels that every instance gets, however unlikely they are.", at_least=0
    )
    candidates: int = setting(
        50, "Labels per instance that sets are made from, at most.", at_least=1
    )


@dataclass(frozen=True)
class CalibrationReport:
    """What calibrating changed.

    Parameters
    ----------
    n_instances, n_pairs : int
        Labeled instances, and pairs (instance, listed label), that it was learned on.
    error_before, error_after : float
        Expected calibration error over the five best labels of each instance: of the scores as
        they are (below 0 taken as 0, above 1 as 1), and of probabilities learned on the other
        four fifths of the instances.
    n_empty : int, optional
        How many of the instances get an empty set by the rule that was learned; None for a
        calibration that was stored before this was counted.
    """

    n_instances: int
    n_pairs: int
    error_before: float
    error_after: float
    n_empty: int | None = None

    def __str__(self) -> str:
        return (
            f"calibrated on {counted(self.n_instances, 'instance')}, "
            f"{counted(self.n_pairs, 'predicted label')}: "
            f"reliability error {100 * self.error_before:.2f}% before, "
            f"{100 * self.error_after:.2f}% after"
        )


class Calibrated:
    """Probabilities and label sets from the scores of any ranker.

    Parameters
    ----------
    config : CalibrationConfig

    Attributes
    ----------
    calibration_ : IsotonicCalibration or TemperatureCalibration
    rule_ : GlobalThreshold, LabelThresholds or ExpectedF1
    report_ : CalibrationReport

    Examples
    --------
    >>> found = Calibrated().fit(model.predict(X_val, top_k=50), Y_val)  # doctest: +SKIP
    >>> sets = found.sets(model.predict(X_test, top_k=50))  # doctest: +SKIP
    """

    kind = "calibrated"

    def __init__(self, *, config: CalibrationConfig = CalibrationConfig()) -> None:
        self.config = config

    def fit(self, predictions: Predictions, truth: Truth) -> Self:
        """Learn from predictions of labeled instances that the model was not trained on.

        Parameters
        ----------
        predictions : Predictions
            `candidates` labels per instance.
        truth : sparse or dense 0/1 matrix (n_instances, n_labels)
        """
        metric: Any = self.config.metric
        predictions, truth = checked_predictions(predictions), checked_truth(truth)
        self.calibration_ = self._calibration().fit(predictions, truth)
        self.rule_ = self._rule(metric).fit(self.calibration_.apply(predictions), truth)
        self.report_ = self._report(predictions, truth)
        return self

    def probabilities(self, predictions: Predictions) -> Predictions:
        """Return the same labels in the same order; scores are probabilities."""
        self._check_fitted()
        return self.calibration_.apply(predictions)

    def sets(self, predictions: Predictions) -> Predictions:
        """Return the labels of each instance's set with their probabilities, best first.

        Parameters
        ----------
        predictions : Predictions
            Scores as the model gives them, `candidates` labels per instance.
        """
        self._check_fitted()
        return self.rule_.apply(self.calibration_.apply(predictions))

    def to_state(self) -> State:
        """Settings and report; calibration and rule as parts."""
        self._check_fitted()
        return State(
            self.kind,
            {"settings": self.config.to_dict(), "report": dict(vars(self.report_))},
            parts={"calibration": self.calibration_.to_state(), "rule": self.rule_.to_state()},
        )

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check settings and report, and that the parts are a calibration and a rule."""
        checks.names(state, config=("settings", "report"), parts=("calibration", "rule"))
        checks.settings(CalibrationConfig, state.config["settings"], "settings")
        checks.numbers(state.config["report"], "report")
        checks.part(state, "calibration", [one.kind for one in CALIBRATIONS.values()])
        checks.part(state, "rule", [one.kind for one in RULES.values()])

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build it again."""
        found = cls(config=CalibrationConfig.from_dict(state.config["settings"]))
        found.calibration_ = _of_kind(CALIBRATIONS, state.parts["calibration"])
        found.rule_ = _of_kind(RULES, state.parts["rule"])
        found.report_ = CalibrationReport(**state.config["report"])
        return found

    def _calibration(self) -> Calibration:
        return CALIBRATIONS[self.config.method]()

    def _rule(self, metric: Metric) -> Rule:
        return RULES[self.config.sets or DEFAULT_RULE](metric=metric, min_size=self.config.min_size)

    def _report(self, predictions: Predictions, truth: Sparse) -> CalibrationReport:
        """Errors before and after; the latter on instances that were not learned from."""
        best = predictions.top(REPORTED_RANKS)
        held_out = np.full(best.scores.shape, NO_SCORE, np.float32)
        for learned_on, checked_on in folds(len(predictions)):
            fitted = self.calibration_  # if there are no others to learn from
            if (predictions.labels[learned_on] >= 0).any():
                fitted = self._calibration().fit(predictions[learned_on], truth[learned_on])
            held_out[checked_on] = fitted.apply(best[checked_on]).scores
        after = Predictions(best.labels, held_out, best.n_labels)
        return CalibrationReport(
            len(predictions),
            int((predictions.labels >= 0).sum()),
            reliability(best, truth).error,
            reliability(after, truth).error,
            int((self.sets(predictions).labels < 0).all(axis=1).sum()),
        )

    def _check_fitted(self) -> None:
        if not hasattr(self, "rule_"):
            raise NotFittedError("nothing has been calibrated yet: call fit first")


def _of_kind(classes: dict[str, Any], state: State) -> Any:
    """Return the object of a state, whose kind must be that of one of the classes."""
    for cls in classes.values():
        if cls.kind == state.kind:
            return cls.from_state(state)
    raise StoreError(f"{state.kind!r} is not a calibration or set rule that this version knows")
