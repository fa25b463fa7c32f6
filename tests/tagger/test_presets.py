from __future__ import annotations

import subprocess
import sys

import pytest

from multitudes.errors import ConfigError
from multitudes.tagger import PRESETS, choose
from multitudes.tagger.presets import preset
from multitudes.tagger.text_learner import reads_texts


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
    with pytest.raises(
        ConfigError, match="known: auto, dexa, .* one-vs-all, .*parabel, .* xr-linear"
    ):
        preset("random forest")


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_can_be_made(name):
    model, features = PRESETS[name].make_model(), PRESETS[name].make_features()
    assert hasattr(model, "fit")
    assert hasattr(features, "fit_transform") == (PRESETS[name].reads == "features")
    assert reads_texts(model) == (PRESETS[name].reads == "texts")


def test_every_encoder_has_a_preset_with_its_settings():
    from multitudes.encoder.presets import PRESETS as ENCODERS
    from multitudes.encoder.presets import prime_preset

    assert ENCODERS.keys() <= PRESETS.keys()
    for name in ENCODERS:
        assert PRESETS[name].reads == "texts"
        assert PRESETS[name].make_model().get_params() == prime_preset(name).get_params()


@pytest.mark.parametrize("name", ["otseq2set", "seq2seq", "mlc2seq", "sgm"])
def test_set_generation_and_its_rivals_have_presets(name):
    from multitudes.seq2set.presets import seq2set_preset

    assert PRESETS[name].reads == "texts"
    assert PRESETS[name].make_model().get_params() == seq2set_preset(name).get_params()


def test_names_and_summaries_need_no_torch():
    code = (
        "import sys\nfrom multitudes.tagger import PRESETS\n"
        "print(len(PRESETS) > 3, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
