"""Serve taggers over HTTP. Needs ``pip install 'multitudes[serve]'``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from multitudes.errors import require
from multitudes.server.limits import Limits

if TYPE_CHECKING:
    from multitudes.data.vocabularies.subjects import Subjects, Vocabularies
    from multitudes.server.access import Access, Keys
    from multitudes.server.app import make_app
    from multitudes.server.models import Models, Served
    from multitudes.server.running import serve

__all__ = [
    "Access",
    "Keys",
    "Limits",
    "Models",
    "Served",
    "Subjects",
    "Vocabularies",
    "make_app",
    "serve",
]

_HOMES = {
    "Access": "multitudes.server.access",
    "Keys": "multitudes.server.access",
    "Models": "multitudes.server.models",
    "Served": "multitudes.server.models",
    "Subjects": "multitudes.data.vocabularies.subjects",
    "Vocabularies": "multitudes.data.vocabularies.subjects",
    "make_app": "multitudes.server.app",
    "serve": "multitudes.server.running",
}


def __getattr__(name: str) -> Any:
    """Import what needs the extra when it is first asked for: ``serve --help`` does without."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in ("fastapi", "httptools", "uvicorn"):
        require(module, extra="serve")
    return getattr(importlib.import_module(_HOMES[name]), name)
