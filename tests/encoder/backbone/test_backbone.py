from __future__ import annotations

import dataclasses

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from multitudes.deep.texts.tokens import PackedTokens, pack
from multitudes.encoder.backbone.backbone import Backbone
from multitudes.errors import ConfigError


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


def test_packed_refuses_what_it_cannot_run(tiny_backbone):
    from transformers import DistilBertConfig, DistilBertModel

    shape = DistilBertConfig(vocab_size=10, dim=32, n_layers=1, n_heads=1, hidden_dim=32)
    config = dataclasses.replace(tiny_backbone.config, attention="packed")
    with pytest.raises(ConfigError, match="knows no DistilBertModel"):
        Backbone(DistilBertModel(shape), tiny_backbone.tokenizer, config)
    with pytest.raises(ConfigError, match="gradient_checkpointing does not work"):
        with_settings(tiny_backbone, attention="packed", gradient_checkpointing=True)


def test_any_transformers_encoder_runs_padded(tiny_backbone, texts):
    from transformers import DistilBertConfig, DistilBertModel

    shape = DistilBertConfig(vocab_size=512, dim=32, n_layers=1, n_heads=1, hidden_dim=32)
    backbone = Backbone(
        DistilBertModel(shape).eval(), tiny_backbone.tokenizer, tiny_backbone.config
    )
    assert not backbone.runs_packed()
    together, alone = backbone.encode(texts[:3]), backbone.encode(texts[:1])
    assert together.shape == (3, 32)
    np.testing.assert_allclose(together[:1], alone, atol=1e-6)


def test_what_only_predicts_is_not_compiled(tiny_backbone):
    tiny_backbone.config = dataclasses.replace(tiny_backbone.config, compile=True)
    assert not tiny_backbone.frozen("float32").config.compile
    assert not Backbone.from_state(tiny_backbone.to_state()).config.compile
