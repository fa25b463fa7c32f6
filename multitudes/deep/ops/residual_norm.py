"""Bias, dropout, residual and normalization as one operation, forwards and backwards.

One after the other they read and write all states seven times; the kernels do so twice each. Which
values were dropped is drawn again in the backward pass, not kept, and the gradients of the bias and
of the norm are summed up in the same pass.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.short_attention import kept
from multitudes.deep.ops.switch import jit, runs_kernel, tl, triton

CELLS = 2048  # of a tile of the forward pass, in the registers of four warps
# A wider row takes several warps, which must wait for each other to sum over it; one warp alone
# need not.
WARP_WIDTH = 512
PROGRAMS = 1584  # of the backward pass: as many as fit on an H100 at once, by their registers
WIDEST = 2048
VARYING = ("n_rows",)


def residual_norm(
    change: Tensor,
    states: Tensor,
    vectors: tuple[Tensor, Tensor, Tensor],
    *,
    epsilon: float,
    dropout: float,
    seed: Tensor,
) -> Tensor:
    """``layer_norm(states + dropout(change + bias))``, (n, d).

    Parameters
    ----------
    change, states : (n, d)
    vectors : three (d,)
        The bias of `change`, then weight and bias of the norm.
    epsilon : float
    dropout : float
        Share of `change` set to zero; 0 outside training.
    seed : int64 (1,)
        Seeds the kernel's dropout; on the device, so that the host never waits.
    """
    if runs_kernel("residual_norm", states.device) and _fits(change, states):
        made: Tensor = _ResidualNorm.apply(change, states, *vectors, epsilon, dropout, seed)
        return made
    bias, *norm = vectors
    change = F.dropout(change + bias, dropout, dropout > 0)
    return F.layer_norm(states + change, (states.shape[1],), *norm, epsilon)


def _fits(change: Tensor, states: Tensor) -> bool:
    kinds = (torch.float32, torch.bfloat16, torch.float16)
    return states.shape[1] <= WIDEST and states.dtype in kinds and change.dtype == states.dtype


class _ResidualNorm(Function):
    """The operation by kernels."""

    @staticmethod
    def forward(
        ctx: Any, change: Tensor, states: Tensor, bias: Tensor, weight: Tensor, norm_bias: Tensor,
        epsilon: float, dropout: float, seed: Tensor,
    ) -> Tensor:  # fmt: skip
        change, states = change.contiguous(), states.contiguous()
        n_rows, dim = states.shape
        total, out = torch.empty_like(states), torch.empty_like(states)
        moments = torch.empty((2, n_rows), dtype=torch.float32, device=states.device)
        width = triton.next_power_of_2(dim)
        rows = max(1, CELLS // width)
        if n_rows:
            _forward_kernel[(triton.cdiv(n_rows, rows),)](
                change, states, bias, weight, norm_bias, seed, total, out, moments,
                n_rows, epsilon, dropout, D=dim, WIDTH=width, ROWS=rows, DROPOUT=dropout > 0,
            )  # fmt: skip
        ctx.save_for_backward(total, moments, weight, seed)
        ctx.dropout = dropout
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        total, moments, weight, seed = ctx.saved_tensors
        n_rows, dim = total.shape
        to_change, to_states = torch.empty_like(total), torch.empty_like(total)
        width = triton.next_power_of_2(dim)
        n_programs = max(1, min(PROGRAMS, n_rows))
        parts = torch.empty((n_programs, 3, dim), dtype=torch.float32, device=total.device)
        _backward_kernel[(n_programs,)](
            grads[0].contiguous(), total, weight, moments, seed, to_change, to_states, parts,
            n_rows, ctx.dropout, D=dim, WIDTH=width, DROPOUT=ctx.dropout > 0,
            num_warps=max(1, width // WARP_WIDTH),
        )  # fmt: skip
        sums = parts.sum(0).to(weight.dtype)  # (3, d)
        return to_change, to_states, *sums.unbind(), None, None, None


@jit(do_not_specialize=VARYING)
def _forward_kernel(
    change,  # IN (n, D)
    states,  # IN (n, D)
    bias,  # IN (D,)
    weight,  # IN (D,), of the norm
    norm_bias,  # IN (D,)
    seed,  # IN int64 (1,)
    total,  # OUT (n, D), what is normalized
    out,  # OUT (n, D)
    moments,  # OUT float32 (2, n): means, and what scales to unit variance
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
    x += tl.load(bias + column, mask=real, other=0.0).to(tl.float32)[None, :]
    if DROPOUT:
        key = tl.load(seed).to(tl.uint32)
        x = tl.where(kept(key, cell, p), x * (1.0 / (1.0 - p)), 0.0)
    x += tl.load(states + cell, mask=inside, other=0.0).to(tl.float32)
    # What is rounded here is what the backward pass reads.
    rounded = x.to(total.dtype.element_ty)
    tl.store(total + cell, rounded, mask=inside)
    x = tl.where(real[None, :], rounded.to(tl.float32), 0.0)
    mean = tl.sum(x, 1) / D  # (ROWS,)
    centered = tl.where(real[None, :], x - mean[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centered * centered, 1) / D + epsilon)  # (ROWS,)
    tl.store(moments + row, mean, mask=row < n_rows)
    tl.store(moments + n_rows + row, scale, mask=row < n_rows)
    w = tl.load(weight + column, mask=real, other=0.0).to(tl.float32)
    b = tl.load(norm_bias + column, mask=real, other=0.0).to(tl.float32)
    y = centered * scale[:, None] * w[None, :] + b[None, :]
    tl.store(out + cell, y.to(out.dtype.element_ty), mask=inside)


@jit()
def _row_of_both(grad, total, row, n_rows, column, D: tl.constexpr):
    """A row of two matrices (n_rows, D), as they are stored; zeros past the last row."""
    row = tl.cast(row, tl.int64)
    inside = column < tl.where(row < n_rows, D, 0)
    start = row * D
    g = tl.load(grad + start + column, mask=inside, other=0.0)
    return g, tl.load(total + start + column, mask=inside, other=0.0)


@jit(do_not_specialize=VARYING)
def _backward_kernel(
    grad,  # IN (n, D)
    total,  # IN (n, D)
    weight,  # IN (D,)
    moments,  # IN float32 (2, n)
    seed,  # IN int64 (1,)
    to_change,  # OUT (n, D)
    to_states,  # OUT (n, D)
    sums,  # OUT float32 (programs, 3, D): a part from each; of `to_change`, weight, bias
    n_rows,
    p,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    program, n_programs = tl.program_id(0), tl.num_programs(0)
    column = tl.arange(0, WIDTH)
    real = column < D
    w = tl.load(weight + column, mask=real, other=0.0).to(tl.float32)
    key = tl.load(seed).to(tl.uint32)
    of_change = tl.zeros((WIDTH,), tl.float32)
    of_weight = tl.zeros((WIDTH,), tl.float32)
    of_bias = tl.zeros((WIDTH,), tl.float32)
    next_g, next_x = _row_of_both(grad, total, program, n_rows, column, D)
    for row in range(program, n_rows, n_programs):
        g, x = next_g.to(tl.float32), next_x.to(tl.float32)  # (WIDTH,) each
        # The next row is on its way while this one is worked on.
        next_g, next_x = _row_of_both(grad, total, row + n_programs, n_rows, column, D)
        mean, scale = tl.load(moments + row), tl.load(moments + n_rows + row)
        normal = (x - mean) * scale
        of_weight += g * normal
        of_bias += g
        g = g * w
        level = tl.sum(g, 0) * (1.0 / D)
        slope = tl.sum(g * normal, 0) * (1.0 / D)
        g = (g - level - normal * slope) * scale
        start = tl.cast(row, tl.int64) * D
        tl.store(to_states + start + column, g.to(to_states.dtype.element_ty), mask=real)
        if DROPOUT:
            cell = start.to(tl.uint32) + column.to(tl.uint32)
            g = tl.where(kept(key, cell, p), g * (1.0 / (1.0 - p)), 0.0)
        tl.store(to_change + start + column, g.to(to_change.dtype.element_ty), mask=real)
        of_change += g
    own = sums + program * (3 * D) + column
    tl.store(own, of_change, mask=real)
    tl.store(own + D, of_weight, mask=real)
    tl.store(own + 2 * D, of_bias, mask=real)
