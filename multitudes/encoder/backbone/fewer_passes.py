"""Casts and products whose gradients take fewer passes over memory than autograd's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function


def cast_together(parameters: Sequence[Tensor], kind: torch.dtype) -> list[Tensor]:
    """Copies in another type, made in a few kernels, and so are their gradients.

    One by one they are a hundred small kernels in each pass, and the host starts kernels no faster
    than a large card runs such small ones.
    """
    made: tuple[Tensor, ...] = _CastTogether.apply(kind, *parameters)  # type: ignore[no-untyped-call]
    return list(made)


class _CastTogether(Function):
    @staticmethod
    def forward(ctx: Any, kind: torch.dtype, *parameters: Tensor) -> tuple[Tensor, ...]:
        ctx.kinds = [p.dtype for p in parameters]
        return tuple(_copies(parameters, [kind] * len(parameters)))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return None, *_copies(grads, ctx.kinds)


def _copies(tensors: Sequence[Tensor], kinds: Sequence[torch.dtype]) -> list[Tensor]:
    made = [t.new_empty(t.shape, dtype=kind) for t, kind in zip(tensors, kinds, strict=True)]
    torch._foreach_copy_(made, list(tensors))
    return made


def product_beside(
    states: Tensor, weight: Tensor, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """``states`` again, and ``states @ weight.T + bias``: (n, d) and (n, c).

    For states that a residual takes too: where both gradients meet, the product adds to the other
    one as it goes, instead of a pass of its own.

    Parameters
    ----------
    states : (n, d)
    weight : (c, d)
    bias : (c,), optional
    """
    both: tuple[Tensor, Tensor] = _ProductBeside.apply(states, weight, bias)  # type: ignore[no-untyped-call]
    return both


class _ProductBeside(Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(states, weight)
        ctx.has_bias = bias is not None
        return states.view_as(states), torch.nn.functional.linear(states, weight, bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        states, weight = ctx.saved_tensors
        past, to_product = grads
        to_states = torch.addmm(past, to_product, weight)  # (n, d)
        to_bias = to_product.sum(0) if ctx.has_bias else None
        return to_states, to_product.T @ states, to_bias
