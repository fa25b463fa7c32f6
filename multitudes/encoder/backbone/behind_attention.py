"""What an encoder's layer does behind its attention: as it stands, or compiled for all layers.

On CUDA kernels join dropout, residual, normalization and GELU of post-norm layers, which would each
read and write all states.

Only this part is compiled. Attention is a kernel of its own, which the compiler cannot see into and
breaks its graph at; the matrix products before it gain nothing.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from multitudes.deep.ops.biased_gelu import biased_gelu
from multitudes.deep.ops.residual_norm import residual_norm
from multitudes.deep.ops.switch import runs_kernel
from multitudes.encoder.backbone.fewer_passes import product_beside

INDUCTOR = "inductor"


class TailWeights(NamedTuple):
    """The parameters of one layer behind its attention, as plain tensors."""

    out: Tensor  # (d, d)
    out_bias: Tensor | None
    norm: Tensor  # (d,)
    norm_bias: Tensor | None
    up: Tensor  # (feed_forward, d), twice as many rows if gated
    up_bias: Tensor | None
    down: Tensor  # (d, feed_forward)
    down_bias: Tensor | None
    last_norm: Tensor | None = None  # (d,)
    last_norm_bias: Tensor | None = None


class TailShape(NamedTuple):
    """What this part of a layer is made of; the same for all layers of an encoder."""

    epsilon: float
    out_dropout: float = 0.0  # both are 0 outside training
    feed_dropout: float = 0.0
    pre_norm: bool = False
    gated: bool = False


def joins_passes(states: Tensor, weights: TailWeights, shape: TailShape) -> bool:
    """Whether kernels take the place of plain operations: for post-norm layers of one type."""
    vectors = (
        weights.out_bias, weights.norm_bias, weights.up_bias, weights.down_bias,
        weights.last_norm_bias,
    )  # fmt: skip
    plain = shape.pre_norm or shape.gated or any(vector is None for vector in vectors)
    return (
        not plain
        and states.dtype == weights.up.dtype
        and not torch.compiler.is_compiling()
        and runs_kernel("residual_norm", states.device)
    )


def joined_behind_attention(
    states: Tensor, mixed: Tensor, weights: TailWeights, shape: TailShape, seeds: Tensor
) -> Tensor:
    """`behind_attention` of layers that `joins_passes` names; seeds (2,) are of its dropouts."""
    first = (weights.out_bias, weights.norm, weights.norm_bias)
    last = (weights.down_bias, weights.last_norm, weights.last_norm_bias)
    change = F.linear(mixed, weights.out)  # (n_tokens, d)
    states = residual_norm(
        change, states, first, epsilon=shape.epsilon, dropout=shape.out_dropout, seed=seeds[:1]
    )  # (n_tokens, d)
    states, product = product_beside(states, weights.up)  # (n_tokens, d), (n_tokens, feed_forward)
    change = F.linear(biased_gelu(product, weights.up_bias), weights.down)  # (n_tokens, d)
    return residual_norm(
        change, states, last, epsilon=shape.epsilon, dropout=shape.feed_dropout, seed=seeds[1:]
    )  # (n_tokens, d)


def behind_attention(
    states: Tensor, mixed: Tensor, weights: TailWeights, shape: TailShape
) -> Tensor:
    """The layer's output (n_tokens, d) from its input and its attention, (n_tokens, d) each.

    States may be in a wider type than the products, such as float32 beside bfloat16.
    """
    change = F.linear(mixed, weights.out, weights.out_bias)
    states = states + _dropped(change, shape.out_dropout)  # (n_tokens, d)
    if shape.pre_norm:
        read = _normalized(states, weights.norm, weights.norm_bias, shape.epsilon)
        hidden = _dropped(_activated(read, weights, shape), shape.feed_dropout)
        return states + F.linear(hidden, weights.down, weights.down_bias)
    states = _normalized(states, weights.norm, weights.norm_bias, shape.epsilon)
    change = F.linear(_activated(states, weights, shape), weights.down, weights.down_bias)
    states = states + _dropped(change, shape.feed_dropout)
    return _normalized(states, weights.last_norm, weights.last_norm_bias, shape.epsilon)


def _activated(states: Tensor, weights: TailWeights, shape: TailShape) -> Tensor:
    """The wide middle (n_tokens, feed_forward) of the feed-forward part."""
    hidden = F.linear(states.to(weights.up.dtype), weights.up, weights.up_bias)
    if not shape.gated:
        return F.gelu(hidden)
    hidden, gate = hidden.chunk(2, dim=1)
    return F.gelu(hidden) * gate


def _dropped(states: Tensor, share: float) -> Tensor:
    return F.dropout(states, share, share > 0)


def _normalized(
    states: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float
) -> Tensor:
    return F.layer_norm(states, (states.shape[1],), weight, bias, epsilon)


def compiled_behind_attention(
    states: Tensor,
    mixed: Tensor,
    weights: TailWeights,
    shape: TailShape,
    *,
    backend: Any = INDUCTOR,
) -> Tensor:
    """The same, compiled; one graph serves any number of tokens and all layers.

    Where torch cannot compile, which it says, it goes on without.
    """
    function = _compiled(shape, backend)
    for tensor in (states, mixed):
        # A wish, where mark_dynamic is a demand: it fails if the compiler fixes the size after all.
        torch._dynamo.maybe_mark_dynamic(tensor, 0)
    try:
        found: Tensor = function(states, mixed, weights)
        return found
    except torch._dynamo.exc.TorchDynamoException as error:
        _compiled.cache_clear()
        warnings.warn(
            "compile=True, but torch cannot compile here, so the encoder runs as it is: "
            f"{str(error).strip().partition(chr(10))[0]}",
            RuntimeWarning,
            stacklevel=2,
        )
        _cannot_compile.add(backend)
        return behind_attention(states, mixed, weights, shape)


_cannot_compile: set[Any] = set()


@functools.cache
def _compiled(shape: TailShape, backend: Any) -> Any:
    """A function of the tensors alone: to the compiler a number that is given may vary."""

    def function(states: Tensor, mixed: Tensor, weights: TailWeights) -> Tensor:
        return behind_attention(states, mixed, weights, shape)

    return function if backend in _cannot_compile else torch.compile(function, backend=backend)
