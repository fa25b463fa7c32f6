"""The application alone, for any ASGI server: the model's folder is in the environment."""

from __future__ import annotations

import functools
import os
from typing import Any

from multitudes import Tagger
from multitudes.server import make_app


@functools.cache
def loaded() -> Any:
    """The application, made when a server first asks for it."""
    return make_app(Tagger.load(os.environ["MODEL"], in_memory=True))


def __getattr__(name: str) -> Any:
    if name == "app":
        return loaded()
    raise AttributeError(name)
