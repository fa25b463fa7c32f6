from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from multitudes.encoder.backbone.folders import read_encoder
from multitudes.encoder.backbone.loading import load_backbone
from multitudes.encoder.backbone.model import Backbone, BackboneConfig
from multitudes.errors import ConfigError
from multitudes.store import read_state, save


def changed(backbone: Backbone) -> Backbone:
    """As if it had been trained."""
    with torch.no_grad():
        for parameter in backbone.model.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=torch.manual_seed(1))
    return backbone


@pytest.mark.parametrize("pooling", ["mean", "cls", "lasttoken"])
def test_sentence_transformers_gives_the_same_embeddings(tiny_backbone, texts, tmp_path, pooling):
    library = pytest.importorskip("sentence_transformers")
    config = dataclasses.replace(tiny_backbone.config, pooling=pooling)
    backbone = changed(Backbone(tiny_backbone.model, tiny_backbone.tokenizer, config)).eval()
    texts = [*texts, "", "red " * 40]
    save(backbone, tmp_path / "model")
    (tmp_path / "alone").mkdir()
    backbone.write_folder(tmp_path / "alone")
    for path in (tmp_path / "model", tmp_path / "alone"):
        theirs = library.SentenceTransformer(str(path), device="cpu", local_files_only=True)
        np.testing.assert_allclose(theirs.encode(texts), backbone.encode(texts), atol=1e-6)


def test_prompts_are_those_of_sentence_transformers(tiny_backbone, texts, tmp_path):
    library = pytest.importorskip("sentence_transformers")
    prompts = {"query_prompt": "red: ", "label_prompt": "blue car "}
    config = dataclasses.replace(tiny_backbone.config, pooling="lasttoken", **prompts)
    backbone = changed(Backbone(tiny_backbone.model, tiny_backbone.tokenizer, config)).eval()
    backbone.write_folder(tmp_path)
    theirs = library.SentenceTransformer(str(tmp_path), device="cpu", local_files_only=True)
    again = load_backbone(BackboneConfig(name=str(tmp_path), max_length=config.max_length))
    assert again.wishes == backbone.wishes == ("lasttoken", "red: ", "blue car ")
    expected = {name: theirs.encode(texts, prompt_name=name) for name in ("query", "document")}
    for one in (backbone, again):
        np.testing.assert_allclose(one.encode(texts), expected["query"], atol=1e-6)
        rows = one.tokenize_labels(texts, max_length=one.max_length).rows
        np.testing.assert_allclose(one.encode(rows), expected["document"], atol=1e-6)
    np.testing.assert_allclose(theirs.encode(texts), expected["query"], atol=1e-6)
    assert np.abs(expected["query"] - expected["document"]).max() > 1e-3
    plain = load_backbone(BackboneConfig(name=str(tmp_path), query_prompt="", max_length=16))
    assert plain.wishes.query_prompt == ""


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ({}, ("", "")),
        ({"prompts": {"query": "q: ", "passage": "p: "}}, ("q: ", "p: ")),
        ({"prompts": {"sts": "s: "}, "default_prompt_name": "sts"}, ("s: ", "s: ")),
        ({"prompts": {"query": None, "document": ""}}, ("", "")),
        ({"prompts": {"other": "o: "}}, ("", "")),
    ],
)
def test_prompts_of_a_folder(tiny_backbone, tmp_path, written, found):
    tiny_backbone.write_folder(tmp_path)
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(written))
    assert read_encoder(tmp_path)[2][1:] == found


def test_refuses_prompts_that_it_cannot_follow(tiny_backbone, tmp_path):
    tiny_backbone.write_folder(tmp_path)
    path = tmp_path / "config_sentence_transformers.json"
    path.write_text(json.dumps({"prompts": {"query": 5}}))
    with pytest.raises(ConfigError, match="prompts must be texts by name"):
        read_encoder(tmp_path)
    path.unlink()
    (tmp_path / "1_Pooling" / "config.json").write_text(
        json.dumps({"pooling_mode": "mean", "include_prompt": False})
    )
    with pytest.raises(ConfigError, match="leaves the tokens of the prompt out"):
        read_encoder(tmp_path)


def test_a_saved_backbone_is_the_same(tiny_backbone, texts, tmp_path):
    backbone = changed(tiny_backbone)
    save(backbone, tmp_path / "model")
    again = Backbone.from_state(read_state(tmp_path / "model", verify=True))
    assert again.config == backbone.config
    assert again.tokenizer.get_vocab() == backbone.tokenizer.get_vocab()
    assert np.array_equal(again.encode(texts), backbone.encode(texts))
    weights = backbone.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in again.state_dict().items())


def test_saving_prints_nothing_and_leaves_the_tokenizer_as_it_was(tiny_backbone, tmp_path, capfd):
    before = tiny_backbone.tokenize(["red box blue car"], max_length=4)
    save(tiny_backbone, tmp_path / "model")
    assert capfd.readouterr() == ("", "")
    after = tiny_backbone.tokenize(["red box blue car"], max_length=4)
    assert np.array_equal(before.rows.ids, after.rows.ids)


def test_a_copy_through_its_state_needs_no_model_folder(tiny_backbone, texts):
    again = Backbone.from_state(tiny_backbone.to_state())
    assert np.array_equal(again.encode(texts), tiny_backbone.encode(texts))


def test_only_safetensors_and_json_are_written(tiny_backbone, tmp_path):
    save(tiny_backbone, tmp_path / "model")
    kinds = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert kinds == {".json", ".safetensors"}
