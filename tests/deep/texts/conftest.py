"""Texts for the tests of this folder."""

from __future__ import annotations

import numpy as np
import pytest

WORDS = ["red", "blue", "green", "old", "new", "small", "box", "car", "tree", "house", "bird"]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """50 texts of 1 to 12 words out of a small vocabulary."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 13))) for _ in range(50)]
