"""Dropout, residual and normalisation in one kernel, forwards and backwards, through Triton.

One after the other they read and write all states seven times; here it is twice each. Which values
were dropped is drawn again in the backward pass, not kept.
"""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
# mypy: disallow-untyped-decorators=False, disallow-untyped-calls=False, check-untyped-defs=False

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function

from multitudes.encoder.device_random import kept

CELLS = 2048  # of a tile, in the registers of four warps
PROGRAMS = 1056  # of the backward pass, eight for each processor of a large card
VARYING = ("n_rows",)


@triton.jit(do_not_specialize=VARYING)
def _forward_kernel(
    change,  # IN (n, D)
    states,  # IN (n, D)
    weight,  # IN (D,)
    bias,  # IN (D,)
    seeds,  # IN int64 (1,)
    total,  # OUT (n, D)
    out,  # OUT (n, D)
    means,  # OUT float32 (n,)
    scales,  # OUT float32 (n,)
    n_rows,
    epsilon,
    p,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    real = column < D
    inside = (row < n_rows)[:, None] & real[None, :]
    cell = row[:, None].to(tl.int64) * D + column[None, :]
    x = tl.load(change + cell, mask=inside, other=0.0).to(tl.float32)
    if DROPOUT:
        x = tl.where(kept(tl.load(seeds).to(tl.uint32), cell, p), x / (1.0 - p), 0.0)
    x += tl.load(states + cell, mask=inside, other=0.0).to(tl.float32)
    # What is rounded here is what the backward pass reads.
    rounded = x.to(total.dtype.element_ty)
    tl.store(total + cell, rounded, mask=inside)
    x = rounded.to(tl.float32)
    mean = tl.sum(x, 1) / D  # (ROWS,)
    centred = tl.where(real[None, :], x - mean[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, 1) / D + epsilon)  # (ROWS,)
    tl.store(means + row, mean, mask=row < n_rows)
    tl.store(scales + row, scale, mask=row < n_rows)
    w = tl.load(weight + column, mask=real, other=0.0).to(tl.float32)
    b = tl.load(bias + column, mask=real, other=0.0).to(tl.float32)
    y = centred * scale[:, None] * w[None, :] + b[None, :]
    tl.store(out + cell, y.to(out.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=VARYING)
def _backward_kernel(
    grad,  # IN (n, D)
    total,  # IN (n, D)
    weight,  # IN (D,)
    means,  # IN float32 (n,)
    scales,  # IN float32 (n,)
    seeds,  # IN int64 (1,)
    to_change,  # OUT (n, D)
    to_states,  # OUT (n, D)
    to_weight,  # OUT float32 (programs, D): a part of the sum from each
    to_bias,  # OUT float32 (programs, D)
    n_rows,
    p,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    program, n_programs = tl.program_id(0), tl.num_programs(0)
    column = tl.arange(0, WIDTH)
    real = column < D
    w = tl.load(weight + column, mask=real, other=0.0).to(tl.float32)
    of_weight = tl.zeros((WIDTH,), tl.float32)
    of_bias = tl.zeros((WIDTH,), tl.float32)
    for first in range(program * ROWS, n_rows, n_programs * ROWS):
        row = first + tl.arange(0, ROWS)
        there = row < n_rows
        inside = there[:, None] & real[None, :]
        cell = row[:, None].to(tl.int64) * D + column[None, :]
        g = tl.load(grad + cell, mask=inside, other=0.0).to(tl.float32)
        x = tl.load(total + cell, mask=inside, other=0.0).to(tl.float32)
        mean = tl.load(means + row, mask=there, other=0.0)
        scale = tl.load(scales + row, mask=there, other=0.0)
        normal = tl.where(inside, (x - mean[:, None]) * scale[:, None], 0.0)
        of_weight += tl.sum(g * normal, 0)
        of_bias += tl.sum(g, 0)
        g = g * w[None, :]
        level = tl.sum(g, 1) / D  # (ROWS,)
        slope = tl.sum(g * normal, 1) / D  # (ROWS,)
        g = (g - level[:, None] - normal * slope[:, None]) * scale[:, None]
        tl.store(to_states + cell, g.to(to_states.dtype.element_ty), mask=inside)
        if DROPOUT:
            g = tl.where(kept(tl.load(seeds).to(tl.uint32), cell, p), g / (1.0 - p), 0.0)
        tl.store(to_change + cell, g.to(to_change.dtype.element_ty), mask=inside)
    own = program * D + column
    tl.store(to_weight + own, of_weight, mask=real)
    tl.store(to_bias + own, of_bias, mask=real)


class _DroppedSumNorm(Function):
    """See `dropped_sum_norm`."""

    @staticmethod
    def forward(
        ctx: Any,
        change: Tensor,
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        seeds: Tensor,
        epsilon: float,
        p: float,
    ) -> Tensor:
        change, states = change.contiguous(), states.contiguous()
        n_rows, dim = states.shape
        total, out = torch.empty_like(states), torch.empty_like(states)
        means = torch.empty(n_rows, dtype=torch.float32, device=states.device)
        scales = torch.empty_like(means)
        ctx.p, ctx.tile = p, _tile(dim)
        if n_rows:
            _forward_kernel[(triton.cdiv(n_rows, ctx.tile["ROWS"]),)](
                change, states, weight, bias, seeds, total, out, means, scales,
                n_rows, epsilon, p, **ctx.tile, DROPOUT=p > 0,
            )  # fmt: skip
        ctx.save_for_backward(total, weight, means, scales, seeds)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        total, weight, means, scales, seeds = ctx.saved_tensors
        n_rows, dim = total.shape
        to_change, to_states = torch.empty_like(total), torch.empty_like(total)
        n_programs = max(1, min(PROGRAMS, triton.cdiv(n_rows, ctx.tile["ROWS"])))
        parts = torch.empty((2, n_programs, dim), dtype=torch.float32, device=total.device)
        _backward_kernel[(n_programs,)](
            grads[0].contiguous(), total, weight, means, scales, seeds,
            to_change, to_states, parts[0], parts[1],
            n_rows, ctx.p, **ctx.tile, DROPOUT=ctx.p > 0,
        )  # fmt: skip
        to_weight, to_bias = parts.sum(dim=1).to(weight.dtype)  # (D,) each
        return to_change, to_states, to_weight, to_bias, None, None, None


def dropped_sum_norm(
    change: Tensor,
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    seeds: Tensor,
    *,
    epsilon: float,
    p: float,
) -> Tensor:
    """``layer_norm(states + dropout(change))``.

    Parameters
    ----------
    change, states : (n, D), of one type
    weight, bias : (D,)
    seeds : int64 tensor (1,)
        Of the dropout; on the device.
    epsilon : float
    p : float
        Share of `change` that is dropped.
    """
    result: Tensor = _DroppedSumNorm.apply(change, states, weight, bias, seeds, epsilon, p)
    return result


def _tile(dim: int) -> dict[str, int]:
    width = triton.next_power_of_2(dim)
    return {"D": dim, "WIDTH": width, "ROWS": max(1, CELLS // width)}
