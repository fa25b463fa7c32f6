"""Tagger: texts in, label names out; what the command line and the server hold.

Names load on first use: help texts need little of it, the rest is needed only for work.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multitudes.tagger.datasets import evaluate_on, predict_batches, predict_tags, predict_to
    from multitudes.tagger.group_report import GroupReport
    from multitudes.tagger.prediction import Kind, Tag
    from multitudes.tagger.presets import choose
    from multitudes.tagger.settings import describe_settings, parse_settings
    from multitudes.tagger.tagger import Tagger

__all__ = [
    "GroupReport",
    "Kind",
    "Tag",
    "Tagger",
    "choose",
    "describe_settings",
    "evaluate_on",
    "parse_settings",
    "predict_batches",
    "predict_tags",
    "predict_to",
]

_HOMES = {
    "datasets": ("evaluate_on", "predict_batches", "predict_tags", "predict_to"),
    "group_report": ("GroupReport",),
    "prediction": ("Kind", "Tag"),
    "presets": ("choose",),
    "settings": ("describe_settings", "parse_settings"),
    "tagger": ("Tagger",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"multitudes.tagger.{module}"), name)
    raise AttributeError(f"module 'multitudes.tagger' has no attribute {name!r}")
