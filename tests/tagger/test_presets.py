from __future__ import annotations

import subprocess
import sys

import pytest

from multitudes.errors import ConfigError
from multitudes.models import built_in_models, model_spec, paper_models
from multitudes.tagger import Tagger, choose
from multitudes.tagger.assembly import reads_texts
from multitudes.tagger.presets import default_features, make_model

MODELS = built_in_models()


@pytest.mark.parametrize(
    ("n_instances", "n_labels", "model", "overlap"),
    [
        (5_000, 159, "one-vs-all", 1),
        (10**7, 159, "xr-linear", 1),
        (20_000, 1_000, "one-vs-all", 1),
        (500_000, 1_000, "xr-linear", 2),
        (10, 1_001, "one-vs-all", 1),
        (17_032, 4_047, "one-vs-all", 1),
        (48_894, 40_623, "xr-linear", 2),
        (300_000, 24_688, "xr-linear", 2),
    ],
)
def test_auto_goes_by_counts_and_says_why(n_instances, n_labels, model, overlap):
    chosen = choose(n_instances, n_labels)
    assert chosen[:2] == (model, overlap)
    named = f"{model} with overlap {overlap}" if overlap > 1 else model
    assert chosen.reason.startswith(f"{named}, because")
    assert f"{n_labels:,} labels and {n_instances:,} instances" in chosen.reason


def test_auto_can_do_without_overlap():
    assert choose(100_000, 5_000, overlap=1)[:2] == ("xr-linear", 1)
    assert "overlap" not in choose(100_000, 5_000, overlap=1).reason


def test_long_texts_are_left_to_a_tree_sooner():
    assert choose(17_032, 4_047, words=200).model == "xr-linear"
    assert choose(17_032, 4_047, words=10).model == "one-vs-all"


def test_unknown_model():
    with pytest.raises(
        ConfigError, match="known: auto, dexa, .* one-vs-all, .*parabel, .* xr-linear"
    ):
        model_spec("random forest")


@pytest.mark.parametrize("name", sorted({**MODELS, **paper_models()}))
def test_every_model_can_be_made(name):
    spec = model_spec(name)
    model, features = spec.make_model(), default_features(spec)
    assert hasattr(model, "fit")
    assert hasattr(features, "fit_transform") == (spec.reads == "features")
    assert reads_texts(model) == (spec.reads == "texts")


def test_models_as_printed_differ_from_ours_where_the_paper_does():
    parabel, _ = make_model("parabel:paper", {})
    assert parabel.get_params()["score_function"] == "l2-hinge"
    xr_linear = model_spec("xr-linear:paper").make_model()
    assert xr_linear.weights == "float32"
    printed, settings = make_model("disentangled:paper", {"overlap": 3})
    assert (printed.max_cluster_size, printed.min_instances, printed.tolerance) == (None, 1, 1.0)
    assert printed.match_width == printed.predict_width == printed.model.beam_width
    solvers = [model.solver for model in (parabel, xr_linear, printed.model)]
    assert {(s.epsilon, s.epsilon_growth, s.leaf_threshold) for s in solvers} == {(0.1, 0.0, 1.0)}
    assert settings == {"overlap": 3}


def test_overlap_in_a_model_as_printed():
    texts, labels = ["red box", "blue car", "green tree"] * 4, [["a"], ["b"], ["c"]] * 4
    settings = {"overlap": 1, "max_leaf_size": 2}
    tagger = Tagger("disentangled:paper", settings=settings).fit(texts, labels)
    assert tagger.model_.overlap == 1
    assert tagger.predict(["a red box"], top_k=1)[0][0].label == "a"
    with pytest.raises(ConfigError, match="one-vs-all has no leaves that labels could share"):
        make_model("one-vs-all", {"overlap": 2})


def test_every_encoder_has_a_preset_with_its_settings():
    from multitudes.encoder.presets import PRESETS as ENCODERS
    from multitudes.encoder.presets import prime_preset

    assert ENCODERS.keys() <= MODELS.keys()
    for name in ENCODERS:
        assert MODELS[name].reads == "texts"
        assert MODELS[name].make_model().get_params() == prime_preset(name).get_params()


@pytest.mark.parametrize("name", ["otseq2set", "seq2seq", "mlc2seq", "sgm"])
def test_set_generation_and_its_rivals_have_presets(name):
    from multitudes.seq2set.presets import seq2set_preset

    assert MODELS[name].reads == "texts"
    assert MODELS[name].make_model().get_params() == seq2set_preset(name).get_params()


def test_names_and_summaries_need_nothing_heavy():
    code = (
        "import sys\nfrom multitudes.models.lookup import summaries\n"
        "print(len(summaries()) > 3, {'torch', 'numba', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "set()"]


@pytest.mark.parametrize("wrong", [{"words": -1}, {"n_labels": -3}, {"n_instances": "many"}])
def test_sizes_that_are_none_are_refused(wrong):
    sizes = {"n_instances": 12, "n_labels": 10**12} | wrong
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        choose(**sizes)
