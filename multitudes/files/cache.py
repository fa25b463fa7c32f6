"""The user's cache folder: what may be lost at any time, and is found again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "MULTITUDES_CACHE"


def cache_folder() -> Path | None:
    """Return the user's cache folder for this library, or None if there is no telling."""
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    try:
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "multitudes"
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (named if named.is_absolute() else Path.home() / ".cache") / "multitudes"
    except RuntimeError:  # this user has no home
        return None
