"""The forward pass of a BERT encoder over packed texts: no padding between them.

The parameters stay those of the transformers module, so that it trains, saves and loads as ever;
only the way through them is ours. Linear layers see one row per real token. There are two ways, and
`packed_bert_forward` chooses: on CUDA, for short texts, layers whose gradient is written out and
whose attention is a Triton kernel (`packed_layer`); elsewhere, and under torch.compile, layers of
plain operations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from multitudes.deep.ops.triton_support import runs_triton
from multitudes.deep.texts.tokens import TILES, PackedTokens
from multitudes.encoder.packed.behind_attention import (
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
    max_length: int
    in_triton: bool
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
        max_length=packed.max_length,
        in_triton=_in_triton(device, kind, config, packed.max_length),
        compiled=compiled and model.training,
    )
    with torch.autocast(device.type, enabled=False):
        written_out = shape.in_triton and runs_triton(device, "layers")
        if written_out and not (shape.compiled or torch.compiler.is_compiling()):
            return _written_out(model, packed, kind, shape)
        states = plain_embedding(model.embeddings, packed, shape).to(kind)  # (n_tokens, d)
        # Of attention's dropout.
        seeds = torch.randint(2**31, (config.num_hidden_layers, 1), device=device)
        for i, module in enumerate(model.encoder.layer):
            states = bert_layer(states, _weights(module, kind), packed, seeds[i], shape)
    return states


def _written_out(model: Any, packed: PackedTokens, kind: torch.dtype, shape: Shape) -> Tensor:
    # Imported here: Triton exists only beside a CUDA build of torch.
    from multitudes.deep.ops.embedding import device_embedding
    from multitudes.deep.ops.random import Draw
    from multitudes.encoder.packed.packed_layer import packed_layers

    modules = model.encoder.layer
    # Of three dropouts in each layer, and of that of the embeddings.
    seeds = torch.randint(2**31, (3 * len(modules) + 1,), device=packed.ids.device)
    if runs_triton(packed.ids.device, "embedding"):
        states = device_embedding(
            model.embeddings,
            packed,
            kind=kind,
            epsilon=shape.epsilon,
            draw=Draw(seeds, 3 * len(modules), shape.dropout),
        )  # (n_tokens, d)
    else:
        states = plain_embedding(model.embeddings, packed, shape).to(kind)  # (n_tokens, d)
    return packed_layers(states, modules, packed, seeds, shape)


def _compute_type(model: Any, device: torch.device) -> torch.dtype:
    if torch.is_autocast_enabled(device.type):
        return torch.get_autocast_dtype(device.type)
    kind: torch.dtype = model.embeddings.word_embeddings.weight.dtype
    return kind


def _in_triton(device: torch.device, kind: torch.dtype, config: Any, max_length: int) -> bool:
    head_size = config.hidden_size // config.num_attention_heads
    fits = head_size in (16, 32, 64, 128) and max_length <= TILES[-1]
    return runs_triton(device, "short_attention") and kind != torch.float64 and fits


def plain_embedding(embeddings: Any, packed: PackedTokens, shape: Shape) -> Tensor:
    """Token states (n_tokens, d) before the first layer, by operations of torch."""
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
    seeds: Tensor,
    shape: Shape,
) -> Tensor:
    """One post-norm layer over (n_tokens, d) states."""
    size = states.shape[1]
    qkv = F.linear(states, weights.qkv, weights.qkv_bias)  # (n_tokens, 3 d)
    qkv = qkv.view(-1, 3, shape.n_heads, size // shape.n_heads)
    if shape.in_triton:
        # Imported here: Triton exists only beside a CUDA build of torch.
        from multitudes.deep.ops.short_attention import short_attention

        mixed = short_attention(
            qkv,
            packed.offsets,
            packed.by_length,
            seeds,
            list(packed.tile_counts),
            shape.attention_dropout,
        )
    else:
        mixed = padded_attention(qkv, len(packed), packed.texts, packed.positions, shape)
    mixed = mixed.flatten(1)  # (n_tokens, d)
    given = (states, mixed, weights.tail, shape.epsilon, shape.dropout)
    behind = compiled_behind_attention if shape.compiled else behind_attention
    return behind(*given)  # (n_tokens, d)


def padded_attention(
    qkv: Tensor, n_texts: int, texts: Tensor, positions: Tensor, shape: Shape
) -> Tensor:
    """Attention (n_tokens, n_heads, head_size) per text, padded for the time it takes."""
    length = max(shape.max_length, 1)
    # Filling is a text of its own, the last; all its tokens land on one place, and mean nothing.
    padded = qkv.new_zeros((n_texts + 1, length, *qkv.shape[1:]))
    padded[texts, positions] = qkv
    real = torch.zeros((n_texts + 1, length), dtype=torch.bool, device=qkv.device)
    real[texts, positions] = True
    q, k, v = padded.permute(2, 0, 3, 1, 4)  # (n_texts + 1, n_heads, length, head_size) each
    mixed = F.scaled_dot_product_attention(
        q, k, v, attn_mask=real[:, None, None, :], dropout_p=shape.attention_dropout
    )
    return mixed.transpose(1, 2)[texts, positions]
