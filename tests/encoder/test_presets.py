"""Each preset trains, and is what it says."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.presets import PRESETS, prime_preset
from multitudes.encoder.sampling import SamplerConfig
from multitudes.errors import ConfigError
from multitudes.models import model_spec
from tests.encoder.prime_problems import SMALL, colors, epochs

TERMS = {
    "prime": {"query_to_prototype", "query_to_label", "label_to_query", "regularizer", "loss"},
    "dexa": {"query_to_prototype", "loss"},
}


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_trains_and_finds_its_labels(name):
    texts, Y, names = colors(96)
    model = prime_preset(name)
    sampler = dataclasses.replace(model.sampler or SamplerConfig(), batch_size=16)
    model.set_params(backbone=SMALL, training=epochs(8), sampler=sampler)
    model.fit(texts, Y, label_texts=names)
    found = model.predict(texts, top_k=1).labels[:, 0]
    assert (found == np.arange(96) % 6).mean() > 0.6
    terms = set(model.history_.epochs[0].terms)
    assert terms == TERMS["prime" if name.startswith("prime") else "dexa"]


def test_what_they_are():
    assert prime_preset("prime").sampler.positives == 2
    assert (
        prime_preset("prime-lite").sampler.batch_size * 2
        == prime_preset("prime").sampler.batch_size
    )
    assert prime_preset("dpr").loss.kind == "softmax"
    assert not prime_preset("siamese").sampler.clustered
    assert prime_preset("ngame").sampler.clustered
    assert prime_preset("dexa").prototypes.sources == ("text", "free")


def test_margins_and_positives_are_those_of_each_method():
    """The dynamic margin is PRIME's alone; what it is compared with has a fixed one."""
    for name in ("siamese", "ngame", "dexa"):
        loss = prime_preset(name).loss
        assert (loss.kind, loss.margin, loss.fixed_margin) == ("triplet", "fixed", 0.3)
        assert not loss.query_to_label
        assert not loss.label_to_query
        assert loss.regularizer_weight == 0
    for name in ("prime", "prime-lite", "prime++", "prime:paper"):
        model = model_spec(name).make_model()
        loss = model.loss or LossConfig()
        assert (loss.margin, loss.gamma_min, loss.gamma_max) == ("dynamic", 0.1, 0.3)
        printed = name.endswith(":paper")
        expected = "inverse-propensity" if printed else "uniform"
        assert model.sampler.positive_weights == expected


def test_the_presets_have_our_settings_and_the_papers_theirs():
    ours, printed = prime_preset("prime"), model_spec("prime:paper").make_model()
    assert (ours.backbone.max_length, ours.backbone.label_max_length) == ("auto", "auto")
    assert (printed.backbone.max_length, printed.backbone.label_max_length) == (32, 32)
    assert (ours.sampler.positive_weights, ours.prototypes.centroid_leak) == ("uniform", "drop")
    assert printed.sampler.positive_weights == "inverse-propensity"
    assert (printed.prototypes.centroid_leak, printed.prototypes.source_dropout) == ("keep", 0.0)
    assert ours.loss.detach_weights
    assert not printed.loss.detach_weights
    for name, model in PRESETS.items():
        if name.startswith("prime"):  # as printed or not, they take the same steps
            theirs = model_spec(f"{name}:paper").make_model().sampler
            assert theirs.batch_size == model.make_model().sampler.batch_size
            assert theirs.positives == model.make_model().sampler.positives


def test_an_unknown_preset_is_named_with_the_nearest():
    with pytest.raises(ConfigError, match="no preset 'primelite': did you mean 'prime-lite'"):
        prime_preset("primelite")
