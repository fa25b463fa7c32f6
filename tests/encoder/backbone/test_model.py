from __future__ import annotations

import dataclasses

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import pytest
import torch

from multitudes.deep.texts.tokens import PackedTokens, TokenRows, pack
from multitudes.encoder.backbone.model import _BATCHES_ON_DEVICE, Backbone, pooled
from multitudes.errors import ConfigError, ResourceError


def with_settings(backbone, **changes):
    config = dataclasses.replace(backbone.config, **changes)
    return Backbone(backbone.model, backbone.tokenizer, config).eval()


def batch(backbone, texts, **options) -> PackedTokens:
    return pack(backbone.tokenize(texts).rows, **options)


@torch.no_grad()
def test_mean_of_the_real_tokens_of_a_text_alone(tiny_backbone, texts):
    embeddings = tiny_backbone(batch(tiny_backbone, texts[:5]))
    for text, embedding in zip(texts[:5], embeddings, strict=True):
        ids = torch.tensor([tiny_backbone.tokenizer(text)["input_ids"][:16]])
        mean = tiny_backbone.model(ids).last_hidden_state[0].mean(dim=0)
        torch.testing.assert_close(embedding, mean / mean.norm(), atol=1e-6, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_packed_and_padded_agree(tiny_backbone, texts, pooling):
    padded = with_settings(tiny_backbone, attention="padded", pooling=pooling)
    packed = with_settings(tiny_backbone, attention="packed", pooling=pooling)
    tokens = batch(padded, texts)
    torch.testing.assert_close(padded(tokens), packed(tokens), atol=1e-6, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("attention", ["padded", "packed"])
def test_filling_and_a_wider_bound_change_nothing(tiny_backbone, texts, attention):
    backbone = with_settings(tiny_backbone, attention=attention)
    plain = backbone(batch(backbone, texts[:7]))
    filled = backbone(batch(backbone, texts[:7], round_up_to=64, max_length=16))
    torch.testing.assert_close(plain, filled, atol=1e-6, rtol=0)


@torch.no_grad()
def test_cls_is_the_first_token(tiny_backbone):
    backbone = with_settings(tiny_backbone, pooling="cls")
    ids = torch.tensor([backbone.tokenizer("red box")["input_ids"]])
    first = backbone.model(ids).last_hidden_state[0, 0]
    embedding = backbone(batch(backbone, ["red box"]))[0]
    torch.testing.assert_close(embedding, first / first.norm(), atol=1e-6, rtol=0)


def test_gradients_reach_every_parameter_that_is_trained(tiny_backbone, texts):
    tiny_backbone.train()
    tiny_backbone(batch(tiny_backbone, texts)).sum().backward()
    trained = [p for p in tiny_backbone.parameters() if p.requires_grad]
    assert all(p.grad is not None for p in trained)
    names = {n for n, p in tiny_backbone.named_parameters() if not p.requires_grad}
    assert names == {"model.pooler.dense.weight", "model.pooler.dense.bias"}


def test_gradient_checkpointing_computes_the_same_gradients(tiny_backbone, texts):
    gradients = []
    for checkpointing in (False, True):
        backbone = with_settings(tiny_backbone, gradient_checkpointing=checkpointing)
        backbone.model.train()
        torch.manual_seed(0)
        backbone.zero_grad()
        backbone(batch(backbone, texts[:4])).square().sum(dim=0).max().backward()
        gradients.append([p.grad.clone() for p in backbone.parameters() if p.requires_grad])
    assert backbone.model.is_gradient_checkpointing
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


def test_autocast_still_gives_float32_unit_vectors(tiny_backbone, texts):
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        embeddings = tiny_backbone(batch(tiny_backbone, texts))
    assert embeddings.dtype == torch.float32
    torch.testing.assert_close(embeddings.norm(dim=1), torch.ones(len(texts)))


def test_frozen_is_a_copy_in_bfloat16(tiny_backbone, texts):
    frozen = tiny_backbone.train().frozen()
    assert {p.dtype for p in frozen.parameters()} == {torch.bfloat16}
    assert not any(p.requires_grad for p in frozen.parameters())
    assert (frozen.training, tiny_backbone.training) == (False, True)
    near = frozen.encode(texts)
    assert near.dtype == np.float32
    np.testing.assert_allclose(near, tiny_backbone.encode(texts), atol=0.02)


def another_family():
    from transformers import ElectraConfig, ElectraModel

    return ElectraModel(
        ElectraConfig(
            vocab_size=512, embedding_size=32, hidden_size=32, num_hidden_layers=1,
            num_attention_heads=1, intermediate_size=32,
        )
    ).eval()  # fmt: skip


def test_packed_refuses_what_it_cannot_run(tiny_backbone):
    config = dataclasses.replace(tiny_backbone.config, attention="packed")
    with pytest.raises(ConfigError, match="supports Bert, .*, got ElectraModel: use 'auto'"):
        Backbone(another_family(), tiny_backbone.tokenizer, config)


def test_a_family_that_is_not_packed_says_so_once(tiny_backbone, monkeypatch, capsys):
    backbone = Backbone(another_family(), tiny_backbone.tokenizer, tiny_backbone.config)
    monkeypatch.setattr(Backbone, "device", torch.device("cuda"))
    assert tiny_backbone.runs_packed()
    assert not backbone.runs_packed()
    assert not backbone.runs_packed()
    assert capsys.readouterr().err.count("ElectraModel runs padded") == 1


def test_any_transformers_encoder_runs_padded(tiny_backbone, texts):
    backbone = Backbone(another_family(), tiny_backbone.tokenizer, tiny_backbone.config)
    assert not backbone.runs_packed()
    together, alone = backbone.encode(texts[:3]), backbone.encode(texts[:1])
    assert together.shape == (3, 32)
    np.testing.assert_allclose(together[:1], alone, atol=1e-6)


def test_what_only_predicts_is_not_compiled(tiny_backbone):
    tiny_backbone.config = dataclasses.replace(tiny_backbone.config, compile=True)
    assert not tiny_backbone.frozen("float32").config.compile
    assert not Backbone.from_state(tiny_backbone.to_state()).config.compile


ROWS = TokenRows(np.zeros(6, np.uint16), np.array([0, 1, 4, 6]))


def test_means_leave_filling_out():
    states = torch.full((8, 2), torch.nan)
    states[:6] = torch.tensor([[3.0, 4], [1, 0], [0, 1], [2, 2], [-1, 0], [-2, 0]])
    expected = [[0.6, 0.8], [2**-0.5, 2**-0.5], [-1, 0]]
    found = pooled(states, pack(ROWS, round_up_to=8), "mean")
    torch.testing.assert_close(found, torch.tensor(expected))


def test_cls_is_the_first_state_of_each_text():
    states = torch.eye(6)
    assert torch.equal(pooled(states, pack(ROWS), "cls"), torch.eye(6)[[0, 1, 4]])


def test_half_precision_is_added_up_in_float32():
    states = torch.full((5000, 1), 1.0, dtype=torch.bfloat16)  # 256 + 1 is 256 in bfloat16
    states[0] = -4992.0
    rows = TokenRows(np.zeros(5000, np.uint16), np.array([0, 5000]))
    found = pooled(states, pack(rows), "mean")
    assert found.dtype == torch.float32
    assert found.item() == 1.0


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
    theirs.max_seq_length = minilm.max_length
    np.testing.assert_allclose(minilm.encode(texts), theirs.encode(texts), atol=1e-5)
