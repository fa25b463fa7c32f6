"""Embeddings of a saved encoder as features."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from multitudes.encoder.backbone.loading import load_backbone
from multitudes.encoder.backbone.model import BackboneConfig
from multitudes.encoder.features import EncoderFeatures, find_backbone
from multitudes.errors import ConfigError, DataError, NotFittedError, StoreError
from multitudes.features import ConcatFeatures, TfidfFeatures
from multitudes.store import build, save
from multitudes.store.saving import write_state

TEXTS = ["red apple", "green pear of the orchard", "", "red apple"]


@pytest.fixture(scope="module")
def backbone():
    config = BackboneConfig(name="scratch", max_length=6, scratch_layers=1, scratch_dim=32)
    return load_backbone(config, texts=TEXTS, random_state=0)


@pytest.fixture(scope="module")
def folder(backbone, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "backbone"
    save(backbone, path)
    return path


def test_rows_are_the_embeddings_of_the_saved_encoder(backbone, folder):
    features = EncoderFeatures(folder, device="cpu")
    X = features.fit_transform(TEXTS)
    assert X.shape == (4, 32)
    assert features.n_features_ == 32
    np.testing.assert_allclose(X.toarray(), backbone.encode(TEXTS), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(X.toarray(), axis=1), 1, atol=1e-5)
    assert features.feature_names[:2] == ["encoder:0", "encoder:1"]
    assert features.transform([]).shape == (0, 32)


def test_the_number_format_can_be_set(folder):
    features = EncoderFeatures(folder, device="cpu").fit(TEXTS)
    X = features.transform(TEXTS).toarray()
    near = features.to(precision="bf16").transform(TEXTS).toarray()
    assert 0 < np.abs(near - X).max() < 0.05
    for setting in ("auto", "float32"):
        assert np.array_equal(features.to(precision=setting).transform(TEXTS).toarray(), X)
    with pytest.raises(ConfigError, match="precision must be one of .* got 'half'"):
        features.to(precision="half")


def test_the_folder_is_needed_for_fitting_alone(folder, tmp_path):
    features = ConcatFeatures([TfidfFeatures(), EncoderFeatures(str(folder), device="cpu")])
    X = features.fit_transform(TEXTS)
    save(features, tmp_path / "features")
    again = build(features.to_state())
    assert (again.transform(TEXTS) != X).nnz == 0
    assert again.blocks_[1].encoder == str(folder)
    assert again.feature_names[-1] == "encoder:31"


def test_length_is_that_of_the_encoder_unless_told_otherwise(folder):
    assert EncoderFeatures(folder).fit(TEXTS).backbone_.config.max_length == 6
    short = EncoderFeatures(folder, max_length=3).fit(TEXTS)
    X = short.transform(["red apple", "red pear"]).toarray()
    np.testing.assert_allclose(X[0], X[1], atol=1e-6)  # "red" is all that is left
    with pytest.raises(ConfigError, match="max_length must be <= "):
        EncoderFeatures(folder, max_length=10_000).fit(TEXTS)


def test_a_folder_of_sentence_transformers_will_do(backbone, tmp_path):
    write_state(backbone.to_state(), tmp_path)
    found = find_backbone(tmp_path / "sentence-transformers", max_length=6)
    np.testing.assert_allclose(found.encode(TEXTS), backbone.encode(TEXTS), atol=1e-6)


def test_clones_hold_the_name_alone(folder):
    fitted = EncoderFeatures(folder, max_length=4).fit(TEXTS)
    copy = clone(fitted)
    assert copy.get_params() == {"encoder": folder, "max_length": 4, "device": "auto"}
    assert not hasattr(copy, "backbone_")


def test_what_is_no_encoder(folder, tmp_path):
    with pytest.raises(ConfigError, match="knows nothing before it is trained"):
        EncoderFeatures("scratch").fit(TEXTS)
    with pytest.raises(ConfigError, match="there is no folder './nowhere'"):
        EncoderFeatures("./nowhere").fit(TEXTS)
    save(TfidfFeatures().fit(TEXTS), tmp_path / "words")
    with pytest.raises(StoreError, match="holds no text encoder, expected one"):
        EncoderFeatures(tmp_path / "words").fit(TEXTS)
    both = ConcatFeatures([EncoderFeatures(folder), EncoderFeatures(folder)]).fit(TEXTS)
    save(both, tmp_path / "both")
    with pytest.raises(StoreError, match="holds 2 text encoders"):
        find_backbone(tmp_path / "both")


def test_bad_input(folder):
    with pytest.raises(NotFittedError, match="call fit first"):
        EncoderFeatures(folder).transform(TEXTS)
    with pytest.raises(DataError, match="wrap it in a list"):
        EncoderFeatures(folder).fit("red apple")
    with pytest.raises(DataError):
        EncoderFeatures(folder).fit(TEXTS).transform(["red", None])
