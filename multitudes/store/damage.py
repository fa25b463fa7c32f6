"""The one message for a file of a model that is not what the store wrote."""

from __future__ import annotations

from pathlib import Path

from multitudes.errors import StoreError


def damaged(path: Path, problem: str) -> StoreError:
    """A StoreError that names the file, what is wrong with it, and what to do."""
    return StoreError(f"{path} is damaged: {problem}; save the model again or restore a copy")
