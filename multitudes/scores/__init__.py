"""Stage 5, candidates to `Predictions`: filters, calibration to probabilities, label sets."""

from multitudes.scores.calibrated import Calibrated, CalibrationConfig, CalibrationReport
from multitudes.scores.calibration import (
    IsotonicCalibration,
    Reliability,
    TemperatureCalibration,
    reliability,
)
from multitudes.scores.filtering import filter_pairs, remove_pairs, remove_pairs_from_truth
from multitudes.scores.sets import ExpectedF1, GlobalThreshold, LabelThresholds

__all__ = [
    "Calibrated",
    "CalibrationConfig",
    "CalibrationReport",
    "ExpectedF1",
    "GlobalThreshold",
    "IsotonicCalibration",
    "LabelThresholds",
    "Reliability",
    "TemperatureCalibration",
    "filter_pairs",
    "reliability",
    "remove_pairs",
    "remove_pairs_from_truth",
]
