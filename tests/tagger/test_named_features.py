"""Features by name, and a tree over words beside the embeddings of an encoder."""

from __future__ import annotations

import pytest

from multitudes.errors import ConfigError
from multitudes.features import HashingFeatures, TfidfFeatures
from multitudes.tagger import Tagger, describe_settings, evaluate_dataset
from multitudes.tagger.presets import named_features

from .tiny_encoder import tiny, topical

TEST = topical(20, start=100)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "prime"
    tiny(**{"training.epochs": 2}).fit(topical(40)).save(path)
    return path


def test_one_name_or_several():
    assert isinstance(named_features("tfidf"), TfidfFeatures)
    words, hashed = named_features("tfidf, hashing").blocks
    assert isinstance(words, TfidfFeatures)
    assert isinstance(hashed, HashingFeatures)
    assert named_features("encoder:a/b:c").encoder == "a/b:c"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("tfdif", "did you mean 'tfidf'"),
        ("tfidf:3", "no features 'tfidf:3'"),
        ("", "no features ''"),
        ("tfidf,", "no features ''"),
        ("encoder", "name no encoder: write encoder:FOLDER"),
        ("encoder:", "name no encoder"),
        ("tfidf,prime", "train one first, and write encoder:FOLDER"),
    ],
)
def test_names_that_mean_nothing(names, message):
    with pytest.raises(ConfigError, match=message):
        named_features(names)


def test_settings_of_blocks_have_the_names_they_have_alone():
    rows = describe_settings(None, named_features("tfidf,encoder:somewhere"))
    values = {name: value for name, value, _ in rows}
    assert values["features.min_df"] == 1
    assert values["features.max_length"] is None
    assert values["features.weights"] is None
    assert [name for name, _, sentence in rows if not sentence] == []


def test_words_beside_an_encoder(folder, tmp_path):
    settings = {"features.min_df": 2, "features.max_length": 8, "features.weights": [1, 0.5]}
    tagger = Tagger(
        "xr-linear",
        features=f"tfidf,encoder:{folder}",
        settings=settings,
        n_jobs=1,
        device="cpu",
    )
    tagger.check()
    tagger.fit(topical(60))
    words, encoder = tagger.features_.blocks_
    assert words.min_df == 2
    assert words.n_jobs == 1
    assert encoder.backbone_.config.max_length == 8
    assert encoder.device == "cpu"
    assert tagger.features_.weights == (1, 0.5)
    assert evaluate_dataset(tagger, TEST)["P@1"] > 0.9
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m", verify=True).to("cpu")
    assert again.predict(TEST.texts) == tagger.predict(TEST.texts)
    assert again.features == f"tfidf,encoder:{folder}"
    assert "apple" in tagger.explain("juicy apple", "fruit").table()


def test_an_encoder_alone_serves_any_model(folder):
    tagger = Tagger("one-vs-all", features=f"encoder:{folder}").fit(topical(40))
    assert tagger.features_.n_features_ == 32
    assert len(tagger.predict(["juicy apple"], top_k=3)[0]) == 3
