"""multitudes: extreme multi-label classification in Python.

Given a text, find the few right labels among thousands to millions. Start with `Tagger`.
Names load on first use, so that ``import multitudes`` stays fast and imports no torch.
"""

from __future__ import annotations

import importlib
from typing import Any

from multitudes.version import __version__

_HOMES = {
    "Dataset": "multitudes.data",
    "read_dataset": "multitudes.data",
    "write_dataset": "multitudes.data",
    "Predictions": "multitudes.types",
    "LabelTree": "multitudes.labels",
    "XRLinear": "multitudes.linear",
    "Parabel": "multitudes.linear",
    "OneVsAll": "multitudes.linear",
    "Disentangled": "multitudes.disentangle",
    "Eagle": "multitudes.groups",
    "Prime": "multitudes.encoder",
    "OTSeq2Set": "multitudes.seq2set",
    "Tagger": "multitudes.tagger",
    "evaluate": "multitudes.metrics",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'multitudes' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
