"""A post-norm layer over packed texts as one step of the graph, its gradient written out.

Recorded operation by operation a layer is some fifty steps, each of which the host must start, and
many of which read states that another has just read. Written out, biases' gradients come from
passes that are made anyway, residuals' gradients are added by the products after them, and the
gradients of float32 parameters are products of their own precision. The plain twin is
`packed_layers.packed_layer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.gelu import gelu_backward, gelu_forward
from multitudes.deep.ops.residual_norm import Dropping, Normed, norm_backward, norm_forward
from multitudes.deep.ops.short_attention import attention_backward, attention_forward
from multitudes.deep.texts.tokens import PackedTokens
from multitudes.encoder.backbone.architectures import Architecture
from multitudes.encoder.backbone.lora import weight_with_adapters

# Torch before 2.8 knows no products of another type than their factors.
_KNOWS_OUT_DTYPE = hasattr(torch.ops.aten.mm, "dtype_out")


class FlatLayer(NamedTuple):
    """One layer's parameters, or their gradients, as views of one buffer.

    What stands side by side is used side by side: the three maps before attention are one product,
    and one kernel makes the gradients of a norm and of the bias before it.
    """

    qkv: Tensor  # (3 d, d)
    qkv_bias: Tensor  # (3 d,)
    out: Tensor  # (d, d)
    norm: Tensor  # (3, d): the bias of `out`, then the norm's weight and bias
    up: Tensor  # (wide, d)
    up_bias: Tensor  # (wide,)
    down: Tensor  # (d, wide)
    last_norm: Tensor  # (3, d): the bias of `down`, then the norm's weight and bias

    def by_parameter(self) -> tuple[Tensor, ...]:
        """The same by parameter, in the order of `layer_parameters`."""
        return (
            *self.qkv.chunk(3), *self.qkv_bias.chunk(3), self.out, *self.norm.unbind(),
            self.up, self.up_bias, self.down, *self.last_norm.unbind(),
        )  # fmt: skip


def layer_parameters(layer: Any, parts: Architecture) -> tuple[Tensor, ...]:
    """The 16 parameters of a layer of transformers, in the order of the buffer.

    Weights with adapters are sums, through which gradients reach the adapters.
    """
    maps = [layer.get_submodule(name) for name in parts.qkv]
    behind = [
        layer.get_submodule(name)
        for name in (parts.out, parts.norm, parts.up, parts.down, parts.last_norm)
    ]
    return (
        *(weight_with_adapters(part) for part in maps),
        *(part.bias for part in maps),
        *(tensor for part in behind for tensor in (weight_with_adapters(part), part.bias)),
    )


def flat_layer(buffer: Tensor, dim: int, wide: int) -> FlatLayer:
    """Views of a buffer (layer_size(dim, wide),); `wide` is the size of the feed-forward part."""
    qkv, qkv_bias, out, norm, up, up_bias, down, last_norm = torch.split(buffer, _sizes(dim, wide))
    return FlatLayer(
        qkv.view(3 * dim, dim), qkv_bias, out.view(dim, dim), norm.view(3, dim),
        up.view(wide, dim), up_bias, down.view(dim, wide), last_norm.view(3, dim),
    )  # fmt: skip


def layer_size(dim: int, wide: int) -> int:
    """Values of a layer's parameters."""
    return sum(_sizes(dim, wide))


def _sizes(dim: int, wide: int) -> list[int]:
    square, rectangle = dim * dim, dim * wide
    return [3 * square, 3 * dim, square, 3 * dim, rectangle, wide, rectangle, 3 * dim]


@torch.no_grad()
def cast_together(
    parameters: Sequence[tuple[Tensor, ...]], kind: torch.dtype, *, dim: int, wide: int
) -> list[FlatLayer]:
    """Copies of all layers' parameters in a type to compute in, without a gradient.

    Cast one by one they are a hundred small kernels in each pass, and the host starts kernels no
    faster than a large card runs such small ones.
    """
    flat = [tensor for layer in parameters for tensor in layer]
    shape = (len(parameters), layer_size(dim, wide))
    buffer = torch.empty(shape, dtype=kind, device=flat[0].device)
    layers = [flat_layer(row, dim, wide) for row in buffer.unbind()]
    torch._foreach_copy_([part for layer in layers for part in layer.by_parameter()], flat)
    return layers


class LayerSettings(NamedTuple):
    """What a layer needs beside its states and weights."""

    packed: PackedTokens
    n_heads: int
    epsilon: float
    in_attention: Dropping
    behind_attention: Dropping
    behind_feeding: Dropping


def written_out_layers(
    states: Tensor, parameters: Sequence[tuple[Tensor, ...]], settings: Sequence[LayerSettings]
) -> Tensor:
    """States (n_tokens, d) behind a stack of post-norm layers with biases.

    Parameters
    ----------
    states : (n_tokens, d), of the type to compute in
    parameters : for each layer, see `layer_parameters`
    settings : for each layer
    """
    states = states.contiguous()
    dim, wide = states.shape[1], len(parameters[0][10])
    weights = cast_together(parameters, states.dtype, dim=dim, wide=wide)
    for own, layer, given in zip(parameters, weights, settings, strict=True):
        states = _WrittenOutLayer.apply(states, layer, given, *own)  # type: ignore[no-untyped-call]
    return states


class _WrittenOutLayer(Function):
    """One layer; the parameters are given for their gradients alone."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weights: FlatLayer, settings: LayerSettings, *parameters: Tensor
    ) -> Tensor:
        dim, epsilon = states.shape[1], settings.epsilon
        qkv = torch.addmm(weights.qkv_bias, states, weights.qkv.T)  # (n_tokens, 3 d)
        qkv = qkv.view(-1, 3, settings.n_heads, dim // settings.n_heads)
        seed, share = settings.in_attention
        mixed = attention_forward(qkv, settings.packed, seed=seed, dropout=share).view(-1, dim)
        change = torch.addmm(weights.norm[0], mixed, weights.out.T)  # (n_tokens, d)
        middle = norm_forward(
            change, states, weights.norm, epsilon=epsilon, dropping=settings.behind_attention
        )
        before = torch.addmm(weights.up_bias, middle.out, weights.up.T)  # (n_tokens, wide)
        hidden = gelu_forward(before)  # (n_tokens, wide)
        change = torch.addmm(weights.last_norm[0], hidden, weights.down.T)  # (n_tokens, d)
        last = norm_forward(
            change, middle.out, weights.last_norm, epsilon=epsilon,
            dropping=settings.behind_feeding,
        )  # fmt: skip
        ctx.weights, ctx.settings = weights, settings
        ctx.save_for_backward(states, qkv, mixed, *middle, before, hidden, *last)
        return last.out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        states, qkv, mixed, *middle, before, hidden, last_out, total, moments = ctx.saved_tensors
        weights, settings = ctx.weights, ctx.settings
        dim, wide = states.shape[1], hidden.shape[1]
        flat = torch.empty(layer_size(dim, wide), dtype=torch.float32, device=states.device)
        found = flat_layer(flat, dim, wide)  # gradients of float32 parameters

        to_change, to_middle = norm_backward(
            grads[0].contiguous(), Normed(last_out, total, moments), weights.last_norm,
            dropping=settings.behind_feeding, sums=found.last_norm,
        )  # (n_tokens, d) each  # fmt: skip
        _product(to_change.T, hidden, out=found.down)  # (d, wide)
        to_hidden = to_change @ weights.down  # (n_tokens, wide)
        gelu_backward(to_hidden, before, sums=found.up_bias)
        _product(to_hidden.T, middle[0], out=found.up)  # (wide, d)
        to_middle.addmm_(to_hidden, weights.up)  # (n_tokens, d), on top of the residual's

        to_change, to_states = norm_backward(
            to_middle, Normed(*middle), weights.norm,
            dropping=settings.behind_attention, sums=found.norm,
        )  # (n_tokens, d) each  # fmt: skip
        _product(to_change.T, mixed, out=found.out)  # (d, d)
        to_mixed = (to_change @ weights.out).view(-1, *qkv.shape[2:])  # (n_tokens, heads, size)
        seed, share = settings.in_attention
        to_qkv = attention_backward(qkv, to_mixed, settings.packed, seed=seed, dropout=share)
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
