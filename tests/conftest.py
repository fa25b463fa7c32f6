"""Shared by all tests: where the real data lives, and a small known data set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a test may wait for a kernel to compile.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """The folder of a real data set; skips with a reason where it is absent."""

    def folder(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.is_dir():
            pytest.skip(f"real data not found: {path}")
        return path

    return folder
