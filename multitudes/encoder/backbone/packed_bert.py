"""The forward pass of a BERT encoder over packed texts: no padding between them.

The parameters stay those of the transformers module, so that it trains, saves and loads as ever;
only the way through them is ours. Linear layers see one row per real token, and attention of short
texts is a kernel on CUDA.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from multitudes.deep.ops.short_attention import text_attention
from multitudes.deep.texts.tokens import PackedTokens
from multitudes.encoder.backbone.behind_attention import (
    TailWeights,
    behind_attention,
    compiled_behind_attention,
)

SUPPORTED = ("BertModel",)


class LayerWeights(NamedTuple):
    """The parameters of one layer, in the type to compute in."""

    qkv: Tensor  # (3 d, d)
    qkv_bias: Tensor  # (3 d,)
    tail: TailWeights


class Shape(NamedTuple):
    """What a layer needs to know beside its weights."""

    n_heads: int
    epsilon: float
    dropout: float  # of the hidden states, 0 outside training
    attention_dropout: float
    compiled: bool = False


def supports_packed(model: torch.nn.Module) -> bool:
    """Whether `packed_bert_forward` knows the architecture: absolute positions and GELU."""
    if type(model).__name__ not in SUPPORTED:
        return False
    config: Any = model.config
    kind = getattr(config, "position_embedding_type", "absolute") or "absolute"
    return bool(
        config.hidden_act == "gelu"
        and kind == "absolute"
        and not getattr(config, "is_decoder", False)
    )


def packed_bert_forward(model: Any, packed: PackedTokens, *, compiled: bool = False) -> Tensor:
    """Token states (n_tokens, d) of a packed batch; those of filling mean nothing.

    `compiled` is for training: outside of it there are too few batches to make up for the start.
    Computes in the autocast type where autocast is on, else in the type of the weights.
    """
    device = packed.ids.device
    kind = _compute_type(model, device)
    config = model.config
    shape = Shape(
        n_heads=config.num_attention_heads,
        epsilon=config.layer_norm_eps,
        dropout=config.hidden_dropout_prob if model.training else 0.0,
        attention_dropout=config.attention_probs_dropout_prob if model.training else 0.0,
        compiled=compiled and model.training,
    )
    with torch.autocast(device.type, enabled=False):
        states = embedded(model.embeddings, packed, shape).to(kind)  # (n_tokens, d)
        # Of attention's dropout.
        seeds = torch.randint(2**31, (config.num_hidden_layers, 1), device=device)
        for i, module in enumerate(model.encoder.layer):
            states = bert_layer(states, _weights(module, kind), packed, seeds[i], shape)
    return states


def _compute_type(model: Any, device: torch.device) -> torch.dtype:
    if torch.is_autocast_enabled(device.type):
        return torch.get_autocast_dtype(device.type)
    kind: torch.dtype = model.embeddings.word_embeddings.weight.dtype
    return kind


def embedded(embeddings: Any, packed: PackedTokens, shape: Shape) -> Tensor:
    """Token states (n_tokens, d) before the first layer."""
    words = embeddings.word_embeddings(packed.ids)  # (n_tokens, d)
    places = embeddings.position_embeddings(packed.positions)
    states = words + places + embeddings.token_type_embeddings.weight[0]
    norm = embeddings.LayerNorm
    states = F.layer_norm(states, norm.normalized_shape, norm.weight, norm.bias, shape.epsilon)
    return F.dropout(states, shape.dropout, training=shape.dropout > 0)


def _weights(module: Any, kind: torch.dtype) -> LayerWeights:
    inner, attention = module.attention.self, module.attention.output
    parts = (inner.query, inner.key, inner.value)
    return LayerWeights(
        qkv=torch.cat([part.weight for part in parts]).to(kind),
        qkv_bias=torch.cat([part.bias for part in parts]).to(kind),
        tail=TailWeights(
            out=attention.dense.weight.to(kind),
            out_bias=attention.dense.bias.to(kind),
            norm=attention.LayerNorm.weight.to(kind),
            norm_bias=attention.LayerNorm.bias.to(kind),
            up=module.intermediate.dense.weight.to(kind),
            up_bias=module.intermediate.dense.bias.to(kind),
            down=module.output.dense.weight.to(kind),
            down_bias=module.output.dense.bias.to(kind),
            last_norm=module.output.LayerNorm.weight.to(kind),
            last_norm_bias=module.output.LayerNorm.bias.to(kind),
        ),
    )


def bert_layer(
    states: Tensor,
    weights: LayerWeights,
    packed: PackedTokens,
    seed: Tensor,
    shape: Shape,
) -> Tensor:
    """One post-norm layer over (n_tokens, d) states."""
    size = states.shape[1]
    qkv = F.linear(states, weights.qkv, weights.qkv_bias)  # (n_tokens, 3 d)
    qkv = qkv.view(-1, 3, shape.n_heads, size // shape.n_heads)
    mixed = text_attention(qkv, packed, seed=seed, dropout=shape.attention_dropout)
    mixed = mixed.flatten(1)  # (n_tokens, d)
    given = (states, mixed, weights.tail, shape.epsilon, shape.dropout)
    behind = compiled_behind_attention if shape.compiled else behind_attention
    return behind(*given)  # (n_tokens, d)
