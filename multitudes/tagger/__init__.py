"""Tagger: texts in, label names out; what the command line and the server hold.

Names load on first use: the presets are needed for help texts, the rest only for work.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multitudes.tagger.alignment import Aligned, align
    from multitudes.tagger.batches import evaluate_on, predict_batches, predict_to
    from multitudes.tagger.prediction_files import PredictionFile, read_prediction_file
    from multitudes.tagger.presets import PRESETS, Preset, choose
    from multitudes.tagger.senses import AmbiguousLabel, WordSense
    from multitudes.tagger.settings import describe_settings, parse_settings
    from multitudes.tagger.tagger import Tag, Tagger
    from multitudes.tagger.word_explanation import WordExplanation

__all__ = [
    "PRESETS",
    "Aligned",
    "AmbiguousLabel",
    "PredictionFile",
    "Preset",
    "Tag",
    "Tagger",
    "WordExplanation",
    "WordSense",
    "align",
    "choose",
    "describe_settings",
    "evaluate_on",
    "parse_settings",
    "predict_batches",
    "predict_to",
    "read_prediction_file",
]

_HOMES = {
    "alignment": ("Aligned", "align"),
    "batches": ("evaluate_on", "predict_batches", "predict_to"),
    "prediction_files": ("PredictionFile", "read_prediction_file"),
    "presets": ("PRESETS", "Preset", "choose"),
    "senses": ("AmbiguousLabel", "WordSense"),
    "settings": ("describe_settings", "parse_settings"),
    "tagger": ("Tag", "Tagger"),
    "word_explanation": ("WordExplanation",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"multitudes.tagger.{module}"), name)
    raise AttributeError(f"module 'multitudes.tagger' has no attribute {name!r}")
