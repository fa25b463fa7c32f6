from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from multitudes.encoder.backbone import encoding
from multitudes.encoder.backbone.encoding import _BATCHES_ON_DEVICE, fastest_precision
from multitudes.errors import ConfigError, ResourceError


def test_results_come_in_the_order_of_the_texts(tiny_backbone, texts):
    one_by_one = np.concatenate([tiny_backbone.encode([text]) for text in texts])
    for batch_size in (1, 7, 1000):
        together = tiny_backbone.encode(texts, batch_size=batch_size)
        np.testing.assert_allclose(together, one_by_one, atol=1e-6)


def test_more_batches_than_are_kept_on_the_device(tiny_backbone, texts):
    many = (texts * 2)[: _BATCHES_ON_DEVICE + 3]
    embeddings = tiny_backbone.encode(many, batch_size=1)
    np.testing.assert_allclose(embeddings, tiny_backbone.encode(many), atol=1e-6)


def test_token_rows_instead_of_texts(tiny_backbone, texts):
    rows = tiny_backbone.tokenize(texts).rows
    assert np.array_equal(tiny_backbone.encode(rows), tiny_backbone.encode(texts))
    short = tiny_backbone.encode(rows, max_length=5)
    np.testing.assert_allclose(short, tiny_backbone.encode(texts, max_length=5), atol=1e-6)


def test_no_texts(tiny_backbone):
    embeddings = tiny_backbone.encode([])
    assert (embeddings.shape, embeddings.dtype) == ((0, 32), np.float32)


def test_an_empty_text_has_an_embedding(tiny_backbone):
    embeddings = tiny_backbone.encode(["", "red box", "\u200b"])
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(embeddings[0], embeddings[2], atol=1e-6)


def test_the_training_mode_comes_back_and_dropout_is_off(tiny_backbone, texts):
    expected = tiny_backbone.encode(texts)
    tiny_backbone.train()
    assert np.array_equal(tiny_backbone.encode(texts), expected)
    assert tiny_backbone.training


def test_bfloat16_moves_embeddings_a_little(tiny_backbone, texts):
    exact, near = tiny_backbone.encode(texts), tiny_backbone.encode(texts, precision="bf16")
    assert near.dtype == np.float32
    assert 0 < np.abs(near - exact).max() < 0.02


def test_bfloat16_only_where_the_processor_knows_it(monkeypatch):
    device = torch.device("cpu")
    for able, works, expected in (
        (True, True, "bf16"),
        (True, False, "float32"),
        (False, True, "float32"),
    ):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda able=able: able)
        monkeypatch.setattr(encoding, "bf16_works", lambda works=works: works)
        assert fastest_precision(device) == expected
    assert fastest_precision(torch.device("meta")) == "float32"


def test_settings_out_of_range(tiny_backbone):
    with pytest.raises(ConfigError, match="batch_size must be >= 1, got 0"):
        tiny_backbone.encode(["a"], batch_size=0)
    with pytest.raises(ConfigError, match="precision must be 'float32' or 'bf16', got 'int8'"):
        tiny_backbone.encode(["a"], precision="int8")


def test_too_little_memory_names_the_settings(tiny_backbone, monkeypatch):
    def full(**inputs):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3 GiB")

    monkeypatch.setattr(tiny_backbone.model, "forward", full)
    tiny_backbone.train()
    with pytest.raises(ResourceError, match="lower batch_size or max_length"):
        tiny_backbone.encode(["a"])
    assert tiny_backbone.training


def test_as_sentence_transformers_encodes(minilm):
    from sentence_transformers import SentenceTransformer

    from multitudes.encoder.backbone.loading import minilm_folder

    texts = ["A title", "", "Ein größerer Text", "word " * 100, "x", "東京 tower"]
    theirs = SentenceTransformer(str(minilm_folder()), device="cpu", local_files_only=True)
    theirs.max_seq_length = minilm.config.max_length
    np.testing.assert_allclose(minilm.encode(texts), theirs.encode(texts), atol=1e-5)
