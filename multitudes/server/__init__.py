"""Serve a tagger over HTTP. Needs ``pip install 'multitudes[serve]'``."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from multitudes.config import Config, setting
from multitudes.errors import require

if TYPE_CHECKING:
    from multitudes.server.app import make_app
    from multitudes.server.running import serve

__all__ = ["Limits", "make_app", "serve"]

_HOMES = {"make_app": "multitudes.server.app", "serve": "multitudes.server.running"}


@dataclass(frozen=True)
class Limits(Config):
    """What one request may ask for, so that it does not keep the server from all others."""

    max_texts: int = setting(1000, "Texts of one request.", at_least=1)
    max_characters: int = setting(2_000_000, "Characters of all its texts together.", at_least=1)
    max_top_k: int = setting(1000, "Labels of each text that may be asked for.", at_least=1)


def __getattr__(name: str) -> Any:
    """Import what needs the extra when it is first asked for: ``serve --help`` does without."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in ("fastapi", "uvicorn"):
        require(module, extra="serve")
    return getattr(importlib.import_module(_HOMES[name]), name)
