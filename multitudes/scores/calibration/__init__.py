"""Scores to probabilities, learned on labeled instances that the model was not trained on."""

from multitudes.scores.calibration.isotonic import IsotonicCalibration
from multitudes.scores.calibration.reliability import Reliability, reliability
from multitudes.scores.calibration.temperature import TemperatureCalibration

__all__ = ["IsotonicCalibration", "Reliability", "TemperatureCalibration", "reliability"]
