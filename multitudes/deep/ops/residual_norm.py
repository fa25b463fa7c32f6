"""Dropout, residual and normalization as one operation, forwards and backwards.

One after the other they read and write all states seven times; the kernels do so twice each. Which
values were dropped is drawn again in the backward pass, not kept, and the gradients of the norm and
of a bias before the dropout are summed up in the same pass.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from multitudes.deep.ops.short_attention import kept
from multitudes.deep.ops.switch import jit, runs_kernel, tl, triton

CELLS = 4096  # of a tile of the forward pass, in the registers of four warps
# A wider row takes several warps, which must wait for each other to sum over it; one warp alone
# need not.
WARP_WIDTH = 512
PROGRAMS = 1584  # of the backward pass: as many as fit on an H100 at once, by their registers
BITS_32 = (1 << 32) - 1
VARYING = ("n_rows",)


class Dropping(NamedTuple):
    """What is dropped: a share of values, drawn by a seed that lies on the device."""

    seed: Tensor  # int64 (1,)
    share: float  # 0 outside training


class Normed(NamedTuple):
    """What the forward pass gives, and what of it the backward pass needs."""

    out: Tensor  # (n, d)
    total: Tensor  # (n, d), what was normalized
    moments: Tensor  # float32 (2, n): its means, and what scaled it to unit variance


def norm_forward(
    change: Tensor, states: Tensor, vectors: Tensor, *, epsilon: float, dropping: Dropping
) -> Normed:
    """``layer_norm(states + dropout(change))``.

    Parameters
    ----------
    change, states : (n, d), contiguous and of one type
    vectors : (3, d)
        Weight and bias of the norm are the last two; the first is the bias that `change` has, which
        is not read: it has its gradient beside theirs.
    epsilon : float
    dropping : Dropping
        Which values of `change` are set to zero.
    """
    n_rows, dim = states.shape
    if not runs_kernel("residual_norm", states.device):
        return _plain_forward(change, states, vectors, epsilon, dropping)
    made = Normed(
        torch.empty_like(states),
        torch.empty_like(states),
        torch.empty((2, n_rows), dtype=torch.float32, device=states.device),
    )
    width = triton.next_power_of_2(dim)
    rows = max(1, CELLS // width)
    if n_rows:
        _forward_kernel[(triton.cdiv(n_rows, rows),)](
            change, states, vectors, dropping.seed, made.total, made.out, made.moments,
            n_rows, epsilon, dropping.share,
            D=dim, WIDTH=width, ROWS=rows, DROPOUT=dropping.share > 0,
        )  # fmt: skip
    return made


def norm_backward(
    grad: Tensor, made: Normed, vectors: Tensor, *, dropping: Dropping, sums: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients (n, d) of `change` and `states`, given that of the output.

    `sums` is OUT float32 (3, d): the gradient of `change` summed over rows, which is that of a bias
    added to it, and those of the norm's weight and bias.
    """
    n_rows, dim = made.total.shape
    if not runs_kernel("residual_norm", grad.device):
        return _plain_backward(grad, made, vectors, dropping, sums)
    to_change, to_states = torch.empty_like(made.total), torch.empty_like(made.total)
    width = triton.next_power_of_2(dim)
    n_programs = max(1, min(PROGRAMS, n_rows))
    parts = torch.empty((n_programs, 3, dim), dtype=torch.float32, device=grad.device)
    _backward_kernel[(n_programs,)](
        grad, made.total, vectors, made.moments, dropping.seed, to_change, to_states, parts,
        n_rows, dropping.share, D=dim, WIDTH=width, DROPOUT=dropping.share > 0,
        num_warps=max(1, width // WARP_WIDTH),
    )  # fmt: skip
    torch.sum(parts, 0, out=sums)
    return to_change, to_states


def _plain_forward(
    change: Tensor, states: Tensor, vectors: Tensor, epsilon: float, dropping: Dropping
) -> Normed:
    total = states + change * _factors(change, dropping).to(change.dtype)  # (n, d)
    wide = total.float()
    variance, mean = torch.var_mean(wide, dim=1, correction=0)  # (n,) each
    _, weight, bias = vectors.unbind()
    out = F.layer_norm(total, (total.shape[1],), weight, bias, epsilon)
    return Normed(out, total, torch.stack([mean, torch.rsqrt(variance + epsilon)]))


def _plain_backward(
    grad: Tensor, made: Normed, vectors: Tensor, dropping: Dropping, sums: Tensor
) -> tuple[Tensor, Tensor]:
    mean, scale = made.moments.unsqueeze(2)  # (n, 1) each
    normal, g = (made.total.float() - mean) * scale, grad.float()  # (n, d) each
    own = g * vectors[1].float()  # (n, d)
    level, slope = own.mean(1, keepdim=True), (own * normal).mean(1, keepdim=True)  # (n, 1) each
    to_states = (own - level - normal * slope) * scale  # (n, d)
    to_change = to_states * _factors(to_states, dropping)  # (n, d)
    torch.stack([to_change.sum(0), (g * normal).sum(0), g.sum(0)], out=sums)
    return to_change.to(grad.dtype), to_states.to(grad.dtype)


def _factors(like: Tensor, dropping: Dropping) -> Tensor:
    """What values (n, d) are multiplied with: as the kernels draw it, by `kept`."""
    if not dropping.share:
        return torch.ones_like(like, dtype=torch.float32)
    cells = torch.arange(like.numel(), device=like.device).view(like.shape)
    x = (dropping.seed + cells * 0x9E3779B1) & BITS_32
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & BITS_32
    x = ((x ^ (x >> 15)) * 0x846CA68B) & BITS_32
    return (x >= int(dropping.share * (1 << 32))).float() / (1 - dropping.share)


@jit(do_not_specialize=VARYING)
def _forward_kernel(
    change,  # IN (n, D)
    states,  # IN (n, D)
    vectors,  # IN (3, D): the norm's weight and bias are the last two
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
    w = tl.load(vectors + D + column, mask=real, other=0.0).to(tl.float32)
    b = tl.load(vectors + 2 * D + column, mask=real, other=0.0).to(tl.float32)
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
    vectors,  # IN (3, D): the norm's weight is the middle one
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
    w = tl.load(vectors + D + column, mask=real, other=0.0).to(tl.float32)
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
