"""Tagger: texts in, label names out; what the command line and the server hold.

Names load on first use: help texts need little of it, the rest is needed only for work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitudes.lazy import lazy_names

__all__ = [
    "Among",
    "AutoReport",
    "Choice",
    "GroupReport",
    "MemberWorth",
    "Score",
    "Tag",
    "TagLists",
    "Tagger",
    "UpdateReport",
    "Written",
    "choose",
    "describe_settings",
    "evaluate_dataset",
    "parse_settings",
    "predict_batches",
    "predict_tags",
    "predict_to",
    "update_tagger",
]

if TYPE_CHECKING:
    from multitudes.tagger.auto.report import AutoReport, MemberWorth, Score
    from multitudes.tagger.datasets import (
        Among,
        Written,
        predict_batches,
        predict_tags,
        predict_to,
    )
    from multitudes.tagger.evaluation import evaluate_dataset
    from multitudes.tagger.presets import Choice, choose
    from multitudes.tagger.reports.group_report import GroupReport
    from multitudes.tagger.reports.update_report import UpdateReport
    from multitudes.tagger.settings import describe_settings, parse_settings
    from multitudes.tagger.tagger import Tagger
    from multitudes.tagger.tags import Tag, TagLists
    from multitudes.tagger.updating import update_tagger
else:
    _HOMES = {
        "Among": "multitudes.tagger.datasets",
        "AutoReport": "multitudes.tagger.auto.report",
        "Choice": "multitudes.tagger.presets",
        "GroupReport": "multitudes.tagger.reports.group_report",
        "MemberWorth": "multitudes.tagger.auto.report",
        "Score": "multitudes.tagger.auto.report",
        "Tag": "multitudes.tagger.tags",
        "TagLists": "multitudes.tagger.tags",
        "Tagger": "multitudes.tagger.tagger",
        "UpdateReport": "multitudes.tagger.reports.update_report",
        "Written": "multitudes.tagger.datasets",
        "choose": "multitudes.tagger.presets",
        "describe_settings": "multitudes.tagger.settings",
        "evaluate_dataset": "multitudes.tagger.evaluation",
        "parse_settings": "multitudes.tagger.settings",
        "predict_batches": "multitudes.tagger.datasets",
        "predict_tags": "multitudes.tagger.datasets",
        "predict_to": "multitudes.tagger.datasets",
        "update_tagger": "multitudes.tagger.updating",
    }
    __getattr__ = lazy_names(__name__, _HOMES)
