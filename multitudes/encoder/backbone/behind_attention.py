"""What an encoder's layer does behind its attention: as it stands, or compiled for all layers.

Only this part is compiled. Attention is a kernel of its own, which the compiler cannot see into and
breaks its graph at; the matrix products before it gain nothing. Here it joins dropout, residual,
normalization and GELU, which would each read and write all states.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

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
