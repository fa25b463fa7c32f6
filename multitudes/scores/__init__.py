"""Stage 5, candidates to `Predictions`: filters, calibration to probabilities, label sets."""

from multitudes.scores.calibrated import Calibrated, CalibrationConfig, CalibrationReport
from multitudes.scores.calibration import IsotonicCalibration, TemperatureCalibration
from multitudes.scores.ensemble import average
from multitudes.scores.expected_f1 import ExpectedF1
from multitudes.scores.filtering import filter_pairs, remove_pairs, remove_pairs_from_truth
from multitudes.scores.reliability import Reliability, reliability
from multitudes.scores.thresholds import GlobalThreshold, LabelThresholds

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
    "average",
    "filter_pairs",
    "reliability",
    "remove_pairs",
    "remove_pairs_from_truth",
]
