"""Ranked labels to label sets: how many labels an instance gets, learned on labeled instances."""

from multitudes.scores.sets.expected_f1 import ExpectedF1
from multitudes.scores.sets.label_thresholds import LabelThresholds
from multitudes.scores.sets.threshold import GlobalThreshold

__all__ = ["ExpectedF1", "GlobalThreshold", "LabelThresholds"]
