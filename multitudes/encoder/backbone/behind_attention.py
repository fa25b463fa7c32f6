"""What a BERT layer does behind its attention: as it stands, or compiled once for all layers.

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
    out_bias: Tensor
    norm: Tensor  # (d,)
    norm_bias: Tensor
    up: Tensor  # (feed_forward, d)
    up_bias: Tensor
    down: Tensor  # (d, feed_forward)
    down_bias: Tensor
    last_norm: Tensor  # (d,)
    last_norm_bias: Tensor


def behind_attention(
    states: Tensor,
    mixed: Tensor,
    weights: TailWeights,
    epsilon: float,
    dropout: float,
) -> Tensor:
    """The layer's output (n_tokens, d) from its input and its attention, (n_tokens, d) each.

    `dropout` is 0 outside training.
    """
    change = F.linear(mixed, weights.out, weights.out_bias)
    states = _joined(
        states, change, (weights.norm, weights.norm_bias), epsilon, dropout
    )  # (n_tokens, d)
    hidden = F.gelu(F.linear(states, weights.up, weights.up_bias))  # (n_tokens, feed_forward)
    change = F.linear(hidden, weights.down, weights.down_bias)
    return _joined(
        states, change, (weights.last_norm, weights.last_norm_bias), epsilon, dropout
    )  # (n_tokens, d)


def _joined(
    states: Tensor, change: Tensor, norm: tuple[Tensor, Tensor], epsilon: float, dropout: float
) -> Tensor:
    """``layer_norm(states + dropout(change))``, (n_tokens, d) all three."""
    change = F.dropout(change, dropout, dropout > 0)
    return F.layer_norm(states + change, (states.shape[1],), *norm, epsilon)


def compiled_behind_attention(
    states: Tensor,
    mixed: Tensor,
    weights: TailWeights,
    epsilon: float,
    dropout: float,
    *,
    backend: Any = INDUCTOR,
) -> Tensor:
    """The same, compiled; one graph serves any number of tokens and all layers.

    Where torch cannot compile, which it says, it goes on without.
    """
    function = _compiled(epsilon, dropout, backend)
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
        return behind_attention(states, mixed, weights, epsilon, dropout)


_cannot_compile: set[Any] = set()


@functools.cache
def _compiled(epsilon: float, dropout: float, backend: Any) -> Any:
    """A function of the tensors alone: to the compiler a number that is given may vary."""

    def function(states: Tensor, mixed: Tensor, weights: TailWeights) -> Tensor:
        return behind_attention(states, mixed, weights, epsilon, dropout)

    return function if backend in _cannot_compile else torch.compile(function, backend=backend)
