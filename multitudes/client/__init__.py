"""Ask a server of multitudes from Python. Needs ``pip install 'multitudes[client]'``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitudes.client.results import (
    Correction,
    CorrectionPage,
    Explanation,
    Kept,
    KnownLabel,
    LabelDetails,
    Model,
    NearLabel,
    Scored,
    Sense,
    Word,
)
from multitudes.lazy import lazy_names

__all__ = [
    "AnswerError",
    "Client",
    "Correction",
    "CorrectionPage",
    "Explanation",
    "Kept",
    "KnownLabel",
    "LabelDetails",
    "Model",
    "NearLabel",
    "Scored",
    "Sense",
    "UnreachableError",
    "Word",
]

if TYPE_CHECKING:
    from multitudes.client.client import Client
    from multitudes.client.sending import AnswerError, UnreachableError
else:
    _HOMES = {
        "AnswerError": "multitudes.client.sending",
        "Client": "multitudes.client.client",
        "UnreachableError": "multitudes.client.sending",
    }
    __getattr__ = lazy_names(__name__, _HOMES)
