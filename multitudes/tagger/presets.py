"""Presets: a model and features that go well together, under one name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from multitudes.errors import ConfigError, suggestion

AUTO = "auto"

# Up to here one ranker per label trains in seconds, and no tree can lose a label on the way down.
ONE_VS_ALL_MAX_LABELS = 1_000
ONE_VS_ALL_MAX_PAIRS = 20_000_000  # instances times labels


@dataclass(frozen=True)
class Preset:
    """A named choice of model and features.

    Parameters
    ----------
    name : str
    summary : str
        One sentence for help texts.
    model : str
        "module:Class" of the estimator; imported on first use.
    features : mapping
        Settings of `TfidfFeatures` that differ from its defaults.
    has_leaves : bool
        Whether labels live in leaves, which `overlap` lets a label have several of.
    """

    name: str
    summary: str
    model: str
    features: Mapping[str, Any] = field(default_factory=dict)
    has_leaves: bool = True

    def make_model(self) -> Any:
        """A new estimator with its default settings."""
        module, name = self.model.split(":")
        return getattr(importlib.import_module(module), name)()

    def make_full_model(self) -> Any:
        """A new estimator that has every setting of the preset, those of overlap included."""
        if not self.has_leaves:
            return self.make_model()
        from multitudes.disentangle import Disentangled

        return Disentangled(self.make_model(), overlap=1)

    def make_features(self) -> Any:
        """New features with the preset's settings."""
        from multitudes.features import TfidfFeatures

        return TfidfFeatures(**self.features)


PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "xr-linear",
            "one tree of linear rankers; fast at any number of labels",
            "multitudes.linear:XRLinear",
        ),
        Preset(
            "parabel",
            "three binary trees whose scores are averaged; slower than one tree",
            "multitudes.linear:Parabel",
        ),
        Preset(
            "one-vs-all",
            "one linear ranker per label, all of them scored; for small label sets",
            "multitudes.linear:OneVsAll",
            has_leaves=False,
        ),
    )
}


def preset(name: str) -> Preset:
    """The preset of a name; an unknown one is an error that names the nearest."""
    if name not in PRESETS:
        raise ConfigError(f"there is no model {name!r}: {suggestion(name, [AUTO, *PRESETS])}")
    return PRESETS[name]


def choose(n_instances: int, n_labels: int) -> tuple[str, str]:
    """What "auto" means for so much data: (preset name, the reason in a sentence)."""
    size = f"{_counted(n_labels, 'label')} and {_counted(n_instances, 'instance')}"
    small = n_labels <= ONE_VS_ALL_MAX_LABELS
    if small and n_instances * n_labels <= ONE_VS_ALL_MAX_PAIRS:
        return "one-vs-all", (
            f"one-vs-all, because {size} are few enough to score every label of a text: "
            "none can be lost on the way down a tree"
        )
    return "xr-linear", (
        f"xr-linear, because one ranker per label over {size} would be slow: "
        "a label tree reaches the same labels in far fewer steps"
    )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
