"""Tagger: texts in, label names out; what the command line and the server hold.

Names load on first use: help texts need little of it, the rest is needed only for work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitudes.lazy import lazy_names

__all__ = [
    "GroupReport",
    "Tag",
    "Tagger",
    "choose",
    "describe_settings",
    "evaluate_dataset",
    "parse_settings",
    "predict_batches",
    "predict_tags",
    "predict_to",
]

if TYPE_CHECKING:
    from multitudes.tagger.datasets import predict_batches, predict_tags, predict_to
    from multitudes.tagger.evaluation import evaluate_dataset
    from multitudes.tagger.group_report import GroupReport
    from multitudes.tagger.prediction import Tag
    from multitudes.tagger.presets import choose
    from multitudes.tagger.settings import describe_settings, parse_settings
    from multitudes.tagger.tagger import Tagger
else:
    _HOMES = {
        "GroupReport": "multitudes.tagger.group_report",
        "Tag": "multitudes.tagger.prediction",
        "Tagger": "multitudes.tagger.tagger",
        "choose": "multitudes.tagger.presets",
        "describe_settings": "multitudes.tagger.settings",
        "evaluate_dataset": "multitudes.tagger.evaluation",
        "parse_settings": "multitudes.tagger.settings",
        "predict_batches": "multitudes.tagger.datasets",
        "predict_tags": "multitudes.tagger.datasets",
        "predict_to": "multitudes.tagger.datasets",
    }
    __getattr__ = lazy_names(__name__, _HOMES)
