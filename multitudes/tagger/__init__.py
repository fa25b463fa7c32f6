"""Tagger: texts in, label names out; what the command line and the server hold."""

from multitudes.tagger.presets import PRESETS, Preset, choose
from multitudes.tagger.settings import describe_settings, parse_settings
from multitudes.tagger.tagger import Tag, Tagger

__all__ = [
    "PRESETS",
    "Preset",
    "Tag",
    "Tagger",
    "choose",
    "describe_settings",
    "parse_settings",
]
