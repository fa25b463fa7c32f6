"""Which classes a model folder may name: a fixed list, so that loading never runs foreign code.

A manifest holds a kind such as ``"xr-linear"``. It is looked up here and nowhere else; no module
or class name that comes from a file is ever imported.
"""

from __future__ import annotations

import importlib

from multitudes.errors import StoreError, suggestion
from multitudes.store.state import Storable

# kind -> "module:Class", imported on first use so that loading one model imports only its parts.
_HOMES = {
    "tagger": "multitudes.tagger:Tagger",
    "xr-linear": "multitudes.linear:XRLinear",
    "parabel": "multitudes.linear:Parabel",
    "one-vs-all": "multitudes.linear:OneVsAll",
    "level-weights": "multitudes.linear.level_weights:LevelWeights",
    "disentangled": "multitudes.disentangle:Disentangled",
    "eagle": "multitudes.groups:Eagle",
    "deep-miml": "multitudes.groups.miml:DeepMIML",
    "prime": "multitudes.encoder.prime:Prime",
    "backbone": "multitudes.encoder.backbone.model:Backbone",
    "encoder-features": "multitudes.encoder.features:EncoderFeatures",
    "prototype-index": "multitudes.encoder.search.index:PrototypeIndex",
    "otseq2set": "multitudes.seq2set.otseq2set:OTSeq2Set",
    "calibrated": "multitudes.scores.calibrated:Calibrated",
    "isotonic-calibration": "multitudes.scores.calibration:IsotonicCalibration",
    "temperature-calibration": "multitudes.scores.calibration:TemperatureCalibration",
    "global-threshold": "multitudes.scores:GlobalThreshold",
    "label-thresholds": "multitudes.scores:LabelThresholds",
    "expected-f1": "multitudes.scores:ExpectedF1",
    "label-tree": "multitudes.labels:LabelTree",
    "tfidf": "multitudes.features:TfidfFeatures",
    "hashing-features": "multitudes.features:HashingFeatures",
    "dense-features": "multitudes.features:DenseFeatures",
    "concat-features": "multitudes.features:ConcatFeatures",
    "pass-through": "multitudes.features:PassThrough",
}

_registered: dict[str, type[Storable]] = {}


def register(kind: str, cls: type[Storable]) -> None:
    """Allow a class of your own to be loaded, under a kind that is not taken.

    Call it before `load`, from your own code: it takes the class itself, never its name.
    """
    taken = kind in _HOMES or _registered.get(kind, cls) is not cls
    if taken:
        raise StoreError(f"kind {kind!r} is taken: register {cls.__name__} under another name")
    _registered[kind] = cls


def kinds() -> list[str]:
    """All kinds that can be loaded."""
    return sorted({*_HOMES, *_registered})


def class_of(kind: str) -> type[Storable]:
    """The class of a kind; an unknown kind is a StoreError."""
    if kind in _registered:
        return _registered[kind]
    if kind not in _HOMES:
        raise StoreError(
            f"the model is of kind {kind!r}, which this version does not know: "
            f"{suggestion(kind, kinds())} (a class of your own: call store.register first)"
        )
    module, name = _HOMES[kind].split(":")
    cls: type[Storable] = getattr(importlib.import_module(module), name)
    return cls
