from __future__ import annotations

import pytest

from multitudes.errors import ConfigError
from multitudes.tagger import PRESETS, choose
from multitudes.tagger.presets import preset


@pytest.mark.parametrize(
    ("n_instances", "n_labels", "expected"),
    [
        (5_000, 159, "one-vs-all"),
        (20_000, 1_000, "one-vs-all"),
        (20_001, 1_000, "xr-linear"),
        (10, 1_001, "xr-linear"),
        (300_000, 24_688, "xr-linear"),
    ],
)
def test_auto_goes_by_counts_and_says_why(n_instances, n_labels, expected):
    name, reason = choose(n_instances, n_labels)
    assert name == expected
    assert reason.startswith(f"{expected}, because")
    assert f"{n_labels:,} labels and {n_instances:,} instances" in reason


def test_unknown_preset():
    with pytest.raises(ConfigError, match="known: auto, one-vs-all, parabel, xr-linear"):
        preset("random forest")


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_can_be_made(name):
    assert hasattr(PRESETS[name].make_model(), "fit")
    assert hasattr(PRESETS[name].make_features(), "fit_transform")
