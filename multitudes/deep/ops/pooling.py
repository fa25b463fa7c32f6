"""Mean pooling through Triton: a text's tokens are read once, where they lie, and summed in order.

PyTorch's way makes a float32 copy of all tokens and adds them up in no fixed order. The plain twin
is `pooling.plain_means`, normalized.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function

CELLS = 2048  # of a tile, in the registers of four warps
SHORTEST = 1e-12  # divisor of a mean that is shorter, as in torch.nn.functional.normalize
VARYING = ("n_texts", "n_tokens")


@triton.jit
def _forward_kernel(
    states,  # IN (n_tokens, D)
    offsets,  # IN int32 (n_texts + 1,)
    units,  # OUT float32 (n_texts, D)
    lengths,  # OUT float32 (n_texts,): of the means
    shortest,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    text = tl.program_id(0)
    start, end = tl.load(offsets + text), tl.load(offsets + text + 1)
    column = tl.arange(0, WIDTH)
    real = column < D
    total = tl.zeros((ROWS, WIDTH), tl.float32)
    for first in range(start, end, ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < end)[:, None] & real[None, :]
        cell = row[:, None].to(tl.int64) * D + column[None, :]
        total += tl.load(states + cell, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / (end - start)  # (WIDTH,)
    length = tl.sqrt(tl.sum(mean * mean, 0))
    tl.store(lengths + text, length)
    tl.store(units + text * D + column, mean / tl.maximum(length, shortest), mask=real)


@triton.jit(do_not_specialize=VARYING)
def _backward_kernel(
    grad,  # IN float32 (n_texts, D)
    units,  # IN float32 (n_texts, D)
    lengths,  # IN float32 (n_texts,)
    offsets,  # IN int32 (n_texts + 1,)
    to_states,  # OUT (n_tokens, D); zero behind the last text
    n_texts,
    n_tokens,
    shortest,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    text = tl.program_id(0)
    is_text = text < n_texts
    start = tl.load(offsets + text)
    end = tl.load(offsets + text + 1, mask=is_text, other=n_tokens)
    column = tl.arange(0, WIDTH)
    real = column < D
    given = real & (text + 0 * column < n_texts)
    g = tl.load(grad + text * D + column, mask=given, other=0.0)
    unit = tl.load(units + text * D + column, mask=given, other=0.0)
    length = tl.load(lengths + text, mask=is_text, other=1.0)
    along = tl.where(length > shortest, tl.sum(g * unit, 0), 0.0)
    g = (g - unit * along) / (tl.maximum(length, shortest) * (end - start))  # (WIDTH,)
    rows = tl.zeros((ROWS, WIDTH), tl.float32) + g[None, :]
    for first in range(start, end, ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < end)[:, None] & real[None, :]
        cell = row[:, None].to(tl.int64) * D + column[None, :]
        tl.store(to_states + cell, rows.to(to_states.dtype.element_ty), mask=inside)


class _UnitMeans(Function):
    """See `unit_means`."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, offsets: Tensor) -> Tensor:
        states = states.contiguous()
        (n_tokens, dim), n_texts = states.shape, offsets.shape[0] - 1
        units = torch.empty((n_texts, dim), dtype=torch.float32, device=states.device)
        lengths = torch.empty(n_texts, dtype=torch.float32, device=states.device)
        if n_texts:
            _forward_kernel[(n_texts,)](states, offsets, units, lengths, SHORTEST, **tile(dim))
        ctx.save_for_backward(offsets, units, lengths)
        ctx.n_tokens, ctx.kind = n_tokens, states.dtype
        return units

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        offsets, units, lengths = ctx.saved_tensors
        n_texts, dim = units.shape
        to_states = torch.empty((ctx.n_tokens, dim), dtype=ctx.kind, device=units.device)
        _backward_kernel[(n_texts + 1,)](  # the last one is for filling
            grads[0].contiguous(), units, lengths, offsets, to_states,
            n_texts, ctx.n_tokens, SHORTEST, **tile(dim),
        )  # fmt: skip
        return to_states, None


def unit_means(states: Tensor, offsets: Tensor) -> Tensor:
    """L2-normalized float32 means (n_texts, D) of the token states (n_tokens, D) of each text.

    `offsets` is int32 (n_texts + 1,), see `PackedTokens`; no text is empty.
    """
    units: Tensor = _UnitMeans.apply(states, offsets)
    return units


def tile(dim: int) -> dict[str, int]:
    """Constants of both kernels."""
    width = triton.next_power_of_2(dim)
    return {"D": dim, "WIDTH": width, "ROWS": max(1, CELLS // width)}
