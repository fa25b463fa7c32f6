from __future__ import annotations

import dataclasses
import json
import sys

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import hashlib
import subprocess

import pytest
import torch

from multitudes.encoder.backbone import loading
from multitudes.encoder.backbone.loading import (
    find_encoder,
    load_backbone,
    minilm_folder,
    scratch_tokenizer,
)
from multitudes.encoder.backbone.model import BackboneConfig
from multitudes.errors import ConfigError, DataError, MissingExtraError


@pytest.fixture
def folder(tiny_backbone, tmp_path):
    """A sentence-transformers folder on disk."""
    tiny_backbone.write_folder(tmp_path)
    return tmp_path


def from_folder(folder, **settings):
    return load_backbone(BackboneConfig(name=str(folder), max_length=16, **settings))


def test_from_a_folder(folder, tiny_backbone, texts):
    backbone = from_folder(folder)
    assert (backbone.dim, backbone.config.pooling) == (32, "mean")
    assert np.array_equal(backbone.encode(texts), tiny_backbone.encode(texts))


def test_from_a_folder_of_transformers_alone(folder, tiny_backbone, texts):
    (folder / "modules.json").unlink()
    backbone = from_folder(folder)
    assert backbone.config.pooling == "mean"
    assert np.array_equal(backbone.encode(texts), tiny_backbone.encode(texts))


def test_float16_weights_are_trained_in_float32(folder, tiny_backbone):
    tiny_backbone.model.half().save_pretrained(folder)
    backbone = from_folder(folder)
    assert {p.dtype for p in backbone.parameters()} == {torch.float32}


class TestPooling:
    def set_pooling(self, folder, config):
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))

    @pytest.mark.parametrize(
        "config",
        [{"pooling_mode": "cls"}, {"pooling_mode_cls_token": True}, {"pooling_mode": ["cls"]}],
    )
    def test_that_of_the_folder_is_kept(self, folder, config):
        self.set_pooling(folder, config)
        assert from_folder(folder).config.pooling == "cls"
        assert from_folder(folder, pooling="mean").config.pooling == "mean"

    @pytest.mark.parametrize(
        ("config", "named"),
        [
            ({"pooling_mode": "weightedmean"}, "'weightedmean'"),
            ({"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}, r"'mean\+max'"),
        ],
    )
    def test_another_kind_is_refused_unless_one_is_chosen(self, folder, config, named):
        self.set_pooling(folder, config)
        with pytest.raises(ConfigError, match=f"trained with {named} pooling"):
            from_folder(folder)
        assert from_folder(folder, pooling="mean").config.pooling == "mean"


def test_a_chain_that_goes_on_after_pooling_is_refused(folder):
    modules = json.loads((folder / "modules.json").read_text())
    modules.insert(2, {"idx": 2, "name": "2", "path": "2_Dense", "type": "x.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ConfigError, match="chains Transformer > Pooling > Dense > Normalize"):
        from_folder(folder)


def test_lower_case_where_the_folder_asks_for_it(folder):
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    upper, lower = (from_folder(folder).tokenize([t]).rows.ids for t in ("RED BOX", "red box"))
    assert upper.tolist() != lower.tolist()
    (folder / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    assert from_folder(folder).tokenize(["RED BOX"]).rows.ids.tolist() == lower.tolist()


class TestFoldersThatCannotBeRead:
    def test_no_encoder(self, tmp_path):
        with pytest.raises(ConfigError, match="holds no encoder"):
            from_folder(tmp_path)

    def test_pickled_weights(self, folder):
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
        with pytest.raises(ConfigError, match="no weights in the safetensors format"):
            from_folder(folder)

    def test_missing_weights(self, folder):
        from safetensors.torch import load_file, save_file

        weights = load_file(folder / "model.safetensors")
        del weights["encoder.layer.1.output.dense.weight"]
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(ConfigError, match="1 of its weights are missing, e.g. encoder.layer.1"):
            from_folder(folder)

    @pytest.mark.parametrize("name", ["config.json", "modules.json", "model.safetensors"])
    def test_damaged(self, folder, name):
        (folder / name).write_bytes(b"{")
        with pytest.raises(ConfigError, match="cannot"):
            from_folder(folder)

    def test_a_tokenizer_without_special_tokens(self, folder):
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        tokenizer["post_processor"] = None
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        with pytest.raises(ConfigError, match="no special token"):
            from_folder(folder)


def test_texts_longer_than_the_encoder_can_read(folder):
    with pytest.raises(ConfigError, match="label_max_length must be <= 64, .*got 65"):
        from_folder(folder, label_max_length=65)


class TestNames:
    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(ConfigError, match="there is no folder"):
            find_encoder(str(tmp_path / "nothing"))

    def test_missing_offline(self, monkeypatch):
        asked = []

        def download(name, *, local_files_only, **options):
            asked.append((name, local_files_only))
            raise OSError("Name or service not known\nand much more")

        monkeypatch.setattr("huggingface_hub.snapshot_download", download)
        with pytest.raises(ConfigError, match=r"\(Name or service not known\): .*'scratch'"):
            find_encoder("msmarco-distilbert-base-v4")
        # What this machine has comes before any connection.
        assert [local for _, local in asked] == [True, True, False, False]
        assert asked[0][0] == "sentence-transformers/msmarco-distilbert-base-v4"

    def test_from_the_cache_of_the_hub(self, monkeypatch, folder):
        def download(name, *, local_files_only, **options):
            assert (name, local_files_only) == ("someone/encoder", True)
            return str(folder)

        monkeypatch.setattr("huggingface_hub.snapshot_download", download)
        assert load_backbone(BackboneConfig(name="someone/encoder")).dim == 32

    def test_a_name_that_no_hub_allows(self):
        with pytest.raises(ConfigError, match="there is no encoder 'two words'"):
            find_encoder("two words")


class TestMiniLM:
    def test_found_without_importing_its_package(self, minilm):
        assert (minilm.dim, minilm.config.pooling) == (384, "mean")
        assert (minilm_folder() / "model.safetensors").is_file()
        assert loading.MINILM_PACKAGE not in sys.modules

    def test_missing(self, monkeypatch):
        monkeypatch.setattr(loading, "minilm_folder", lambda: None)
        monkeypatch.setattr(loading, "_snapshot", lambda name, **_: (None, "offline"))
        with pytest.raises(MissingExtraError, match=r"pip install 'multitudes\[deep\]'"):
            load_backbone(BackboneConfig())

    @pytest.mark.parametrize("name", ["minilm", "multilingual"])
    def test_short_names_are_fetched_with_a_word(self, monkeypatch, folder, capfd, name):
        monkeypatch.setattr(loading, "minilm_folder", lambda: None)

        def download(full_name, *, local_files_only):
            assert full_name == loading.ENCODERS[name]
            return (None, "not there") if local_files_only else (folder, "")

        monkeypatch.setattr(loading, "_snapshot", download)
        assert load_backbone(BackboneConfig(name=name)).dim == 32
        assert f"fetching the encoder {loading.ENCODERS[name]}" in capfd.readouterr().err


class TestScratch:
    def test_needs_texts(self, tiny_config):
        with pytest.raises(DataError, match="learns its tokenizer from your texts"):
            load_backbone(tiny_config)

    def test_the_seed_decides_the_weights(self, tiny_config, texts):
        state = torch.get_rng_state()
        first, same, other = (
            load_backbone(tiny_config, texts=texts, random_state=s) for s in (1, 1, 2)
        )
        assert torch.equal(torch.get_rng_state(), state)
        assert np.array_equal(first.encode(texts), same.encode(texts))
        assert not np.allclose(first.encode(texts), other.encode(texts))

    def test_sizes(self, tiny_config, texts):
        config = dataclasses.replace(tiny_config, scratch_layers=1, scratch_dim=64, max_length=99)
        model = load_backbone(config, texts=texts).model
        assert (model.config.num_hidden_layers, model.config.hidden_size) == (1, 64)
        assert model.config.max_position_embeddings == 99

    def test_a_size_that_heads_do_not_divide(self, tiny_config, texts):
        with pytest.raises(ConfigError, match="scratch_dim must be a multiple of 32, got 48"):
            load_backbone(dataclasses.replace(tiny_config, scratch_dim=48), texts=texts)


_IN_ANOTHER_PROCESS = """
import hashlib, sys
from multitudes.encoder.backbone.loading import scratch_tokenizer
texts = sys.stdin.read().split("\\n")
backend = scratch_tokenizer(texts, vocabulary_size=400).backend_tokenizer
print(hashlib.sha256(backend.to_str().encode()).hexdigest())
"""


def learned(texts) -> dict[str, int]:
    return scratch_tokenizer(texts, vocabulary_size=400).get_vocab()


def test_the_order_of_texts_does_not_matter(texts):
    assert learned(texts) == learned(texts[::-1])


def test_the_same_in_every_process(texts):
    answer = subprocess.run(
        [sys.executable, "-c", _IN_ANOTHER_PROCESS],
        input="\n".join(texts),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    here = scratch_tokenizer(texts, vocabulary_size=400).backend_tokenizer.to_str()
    assert answer.strip() == hashlib.sha256(here.encode()).hexdigest()


def test_words_become_pieces_and_case_is_lost(texts):
    tokenizer = scratch_tokenizer(texts, vocabulary_size=512)
    assert tokenizer.tokenize("Red BOX") == tokenizer.tokenize("red box") == ["Ġred", "Ġbox"]
    assert len(tokenizer) <= 512


def test_no_character_is_unknown(texts):
    tokenizer = scratch_tokenizer(texts, vocabulary_size=300)
    assert (
        tokenizer.decode(tokenizer("東京 ☂")["input_ids"], skip_special_tokens=True) == " 東 京 ☂"
    )


@pytest.mark.parametrize("texts", [[], [""]])
def test_no_words_at_all(texts):
    tokenizer = scratch_tokenizer(texts, vocabulary_size=300)
    assert len(tokenizer("new word")["input_ids"]) > 2
