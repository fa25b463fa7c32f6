"""Presets: a model under one name, and the features that go well with it if it needs any."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
        "module:Class" of the estimator, or "module:function" that makes one; imported on first use.
    variant : str, optional
        What that function is given: which of its models to make.
    reads : "features" or "texts"
        Whether the model learns from X, which features make of texts, or from texts themselves.
    features : mapping
        Settings of `TfidfFeatures` that differ from its defaults.
    has_leaves : bool
        Whether labels live in leaves, which `overlap` lets a label have several of.
    """

    name: str
    summary: str
    model: str
    variant: str | None = None
    reads: Literal["features", "texts"] = "features"
    features: Mapping[str, Any] = field(default_factory=dict)
    has_leaves: bool = True

    def make_model(self) -> Any:
        """A new estimator with the preset's settings."""
        module, name = self.model.split(":")
        make = getattr(importlib.import_module(module), name)
        return make() if self.variant is None else make(self.variant)

    def make_full_model(self) -> Any:
        """A new estimator that has every setting of the preset, those of overlap included."""
        if not self.has_leaves:
            return self.make_model()
        from multitudes.disentangle import Disentangled

        return Disentangled(self.make_model(), overlap=1)

    def make_features(self) -> Any:
        """New features with the preset's settings; None for a model that reads texts."""
        if self.reads == "texts":
            return None
        from multitudes.features import TfidfFeatures

        return TfidfFeatures(**self.features)


def _encoder(name: str, summary: str) -> Preset:
    return _reader(name, summary, "multitudes.encoder.presets:prime_preset")


def _generator(name: str, summary: str) -> Preset:
    return _reader(name, summary, "multitudes.seq2set.presets:seq2set_preset")


def _reader(name: str, summary: str, model: str) -> Preset:
    return Preset(name, summary, model, variant=name, reads="texts", has_leaves=False)


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
        _encoder("prime", "a text encoder and a prototype of each label; for GPUs"),
        _encoder("prime-lite", "prime in smaller steps: half the batch, one label drawn per text"),
        _encoder("prime++", "prime in larger steps: twice the batch, three labels drawn per text"),
        _encoder("dexa", "an encoder with a free vector beside the text of a label"),
        _encoder("ngame", "an encoder of texts and label texts, batches of similar texts"),
        _encoder("siamese", "an encoder of texts and label texts, random batches"),
        _encoder("dpr", "an encoder of texts and label texts, softmax over random batches"),
        _generator("otseq2set", "writes the set of labels, its size included; for GPUs"),
        _generator("seq2seq", "writes labels one after the other, in a fixed order"),
        _generator("mlc2seq", "seq2seq, frequent labels first"),
        _generator("sgm", "seq2seq that weighs all labels it might have written"),
    )
}
"""The models that `Tagger` knows by name."""


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
