"""A BERT layer over packed texts on CUDA as one step of the graph, its gradient written out.

Recorded operation by operation a layer is some fifty steps, each of which the host must start, and
many of which read states that another has just read. Written out, biases' gradients come from
passes that are made anyway, residuals' gradients are added by the products after them, and the
gradients of the float32 parameters are products of their own precision. The plain twin is
`packed_bert.bert_layer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.gelu import gelu_backward_
from multitudes.deep.ops.norm import Normed, norm_backward, norm_forward
from multitudes.deep.ops.random import Draw
from multitudes.deep.ops.short_attention import attention_backward, attention_forward
from multitudes.deep.texts.tokens import PackedTokens
from multitudes.encoder.packed.flat_layers import (
    FlatLayer,
    cast_together,
    flat_layer,
    layer_parameters,
    layer_size,
)
from multitudes.encoder.packed.packed_bert import Shape

# Torch 2.4 to 2.7 know no products of another type than their factors.
_KNOWS_OUT_DTYPE = hasattr(torch.ops.aten.mm, "dtype_out")


class LayerSettings(NamedTuple):
    """What a layer needs beside its states and weights."""

    packed: PackedTokens
    n_heads: int
    epsilon: float
    attention_draw: Draw
    draw: Draw  # behind attention
    last_draw: Draw  # behind the feed-forward part


def packed_layers(
    states: Tensor, modules: Sequence[Any], packed: PackedTokens, seeds: Tensor, shape: Shape
) -> Tensor:
    """States (n_tokens, d) behind a stack of layers of the transformers module.

    Parameters
    ----------
    states : (n_tokens, d), contiguous, of the type to compute in
    modules : list of BertLayer
    packed : PackedTokens
        On CUDA, texts of up to 128 tokens.
    seeds : int64 tensor (at least 3 n_layers,)
        Of the dropouts of each layer: in attention, behind it, behind the feed-forward part.
    shape : Shape
    """
    parameters = [layer_parameters(module) for module in modules]
    dim, wide = states.shape[1], modules[0].intermediate.dense.out_features
    weights = cast_together(parameters, states.dtype, dim=dim, wide=wide)
    for i, own in enumerate(parameters):
        settings = LayerSettings(
            packed,
            shape.n_heads,
            shape.epsilon,
            Draw(seeds, 3 * i, shape.attention_dropout),
            Draw(seeds, 3 * i + 1, shape.dropout),
            Draw(seeds, 3 * i + 2, shape.dropout),
        )
        states = _PackedLayer.apply(  # type: ignore[no-untyped-call]
            states, weights[i], settings, *own
        )  # (n_tokens, d)
    return states


class _PackedLayer(Function):
    """One post-norm layer; the parameters are given for their gradients alone."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weights: FlatLayer, settings: LayerSettings, *parameters: Tensor
    ) -> Tensor:
        dim, n_heads = states.shape[1], settings.n_heads
        qkv = torch.addmm(weights.qkv_bias, states, weights.qkv.T)  # (n_tokens, 3 d)
        qkv = qkv.view(-1, 3, n_heads, dim // n_heads)
        mixed = attention_forward(qkv, settings.packed, settings.attention_draw).view(-1, dim)
        change = torch.addmm(weights.norm[0], mixed, weights.out.T)  # (n_tokens, d)
        middle = norm_forward(
            change, states, weights.norm, epsilon=settings.epsilon, draw=settings.draw
        )
        before = torch.addmm(weights.up_bias, middle.out, weights.up.T)  # (n_tokens, wide)
        hidden = F.gelu(before)  # (n_tokens, wide)
        change = torch.addmm(weights.last_norm[0], hidden, weights.down.T)  # (n_tokens, d)
        last = norm_forward(
            change, middle.out, weights.last_norm, epsilon=settings.epsilon, draw=settings.last_draw
        )
        ctx.weights, ctx.settings = weights, settings
        ctx.save_for_backward(states, qkv, mixed, *middle, before, hidden, *last)
        return last.out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        states, qkv, mixed, *middle, before, hidden, last_out, total, moments = ctx.saved_tensors
        weights, settings = ctx.weights, ctx.settings
        dim, wide = states.shape[1], hidden.shape[1]
        flat = torch.empty(layer_size(dim, wide), dtype=torch.float32, device=states.device)
        found = flat_layer(flat, dim, wide)  # gradients, of float32 parameters

        to_change, to_middle = norm_backward(
            grads[0].contiguous(),
            Normed(last_out, total, moments),
            weights.last_norm,
            draw=settings.last_draw,
            sums=found.last_norm,
        )  # (n_tokens, d) each
        _product(to_change.T, hidden, out=found.down)  # (d, wide)
        to_hidden = to_change @ weights.down  # (n_tokens, wide)
        gelu_backward_(to_hidden, before, sums=found.up_bias)
        _product(to_hidden.T, middle[0], out=found.up)  # (wide, d)
        to_middle.addmm_(to_hidden, weights.up)  # (n_tokens, d), on top of the residual's

        to_change, to_states = norm_backward(
            to_middle, Normed(*middle), weights.norm, draw=settings.draw, sums=found.norm
        )  # (n_tokens, d) each
        _product(to_change.T, mixed, out=found.out)  # (d, d)
        to_mixed = to_change @ weights.out  # (n_tokens, d)
        to_qkv = attention_backward(qkv, to_mixed, settings.packed, settings.attention_draw)
        to_qkv = to_qkv.view(-1, 3 * dim)  # (n_tokens, 3 d)
        torch.sum(to_qkv, 0, dtype=torch.float32, out=found.qkv_bias)
        _product(to_qkv.T, states, out=found.qkv)  # (3 d, d)
        to_states.addmm_(to_qkv, weights.qkv)  # (n_tokens, d), on top of the residual's
        return to_states, None, None, *found.by_parameter()


def _product(left: Tensor, right: Tensor, *, out: Tensor) -> None:
    """``left @ right`` in the type of `out`, which may be wider than theirs."""
    if left.dtype == out.dtype:
        torch.mm(left, right, out=out)
    elif left.is_cuda and _KNOWS_OUT_DTYPE:
        torch.mm(left, right, out_dtype=out.dtype, out=out)
    else:
        out.copy_(left @ right)
