"""Dropout, residual and normalization in one kernel, forwards and backwards, through Triton.

One after the other they read and write all states seven times; here it is twice each. Which values
were dropped is drawn again in the backward pass, not kept. The plain twin is what
`behind_attention` does without Triton.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from multitudes.deep.ops.random import Draw, kept

CELLS = 2048  # of a tile of the forward pass, in the registers of four warps
# A wider row takes several warps, which must wait for each other to sum over it; one warp alone
# need not.
WARP_WIDTH = 512
PROGRAMS = 1584  # of the backward pass: as many as fit on an H100 at once, by their registers
VARYING = ("n_rows", "place")


@triton.jit(do_not_specialize=VARYING)
def _forward_kernel(
    change,  # IN (n, D)
    states,  # IN (n, D)
    vectors,  # IN (3, D): the norm's weight and bias are the last two
    seeds,  # IN int64 (at least place + 1,)
    total,  # OUT (n, D)
    out,  # OUT (n, D)
    moments,  # OUT float32 (2, n): means, and what scales to unit variance
    n_rows,
    place,
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
        key = tl.load(seeds + place).to(tl.uint32)
        x = tl.where(kept(key, cell, p), x * (1.0 / (1.0 - p)), 0.0)
    x += tl.load(states + cell, mask=inside, other=0.0).to(tl.float32)
    # What is rounded here is what the backward pass reads.
    rounded = x.to(total.dtype.element_ty)
    tl.store(total + cell, rounded, mask=inside)
    x = rounded.to(tl.float32)
    mean = tl.sum(x, 1) / D  # (ROWS,)
    centered = tl.where(real[None, :], x - mean[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centered * centered, 1) / D + epsilon)  # (ROWS,)
    tl.store(moments + row, mean, mask=row < n_rows)
    tl.store(moments + n_rows + row, scale, mask=row < n_rows)
    w = tl.load(vectors + D + column, mask=real, other=0.0).to(tl.float32)
    b = tl.load(vectors + 2 * D + column, mask=real, other=0.0).to(tl.float32)
    y = centered * scale[:, None] * w[None, :] + b[None, :]
    tl.store(out + cell, y.to(out.dtype.element_ty), mask=inside)


@triton.jit
def norm_slope(g, normal, scale, D: tl.constexpr):
    """The gradient (WIDTH,) of a row before it was normalized.

    `g` is that of the normalized row `normal`, zero past the last column as the row need not be.
    """
    level = tl.sum(g, 0) * (1.0 / D)
    slope = tl.sum(g * normal, 0) * (1.0 / D)
    return (g - level - normal * slope) * scale


@triton.jit
def store_parts(sums, program, first, second, third, column, D: tl.constexpr):
    """A program's parts (WIDTH,) of three sums over rows, into (programs, 3, D)."""
    own = sums + program * (3 * D) + column
    tl.store(own, first, mask=column < D)
    tl.store(own + D, second, mask=column < D)
    tl.store(own + 2 * D, third, mask=column < D)


@triton.jit
def _row_of_both(grad, total, row, n_rows, column, D: tl.constexpr):
    """A row of two matrices (n_rows, D), as they are stored; zeros past the last row."""
    row = tl.cast(row, tl.int64)
    inside = column < tl.where(row < n_rows, D, 0)
    start = row * D
    g = tl.load(grad + start + column, mask=inside, other=0.0)
    return g, tl.load(total + start + column, mask=inside, other=0.0)


@triton.jit(do_not_specialize=VARYING)
def _backward_kernel(
    grad,  # IN (n, D)
    total,  # IN (n, D)
    vectors,  # IN (3, D): the norm's weight is the middle one
    moments,  # IN float32 (2, n)
    seeds,  # IN int64 (at least place + 1,)
    to_change,  # OUT (n, D)
    to_states,  # OUT (n, D)
    sums,  # OUT float32 (programs, 3, D): a part from each; of `to_change`, weight, bias
    n_rows,
    place,
    p,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    program, n_programs = tl.program_id(0), tl.num_programs(0)
    column = tl.arange(0, WIDTH)
    real = column < D
    w = tl.load(vectors + D + column, mask=real, other=0.0).to(tl.float32)
    key = tl.load(seeds + place).to(tl.uint32)
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
        g = norm_slope(g * w, normal, scale, D)
        start = tl.cast(row, tl.int64) * D
        tl.store(to_states + start + column, g.to(to_states.dtype.element_ty), mask=real)
        if DROPOUT:
            cell = start.to(tl.uint32) + column.to(tl.uint32)
            g = tl.where(kept(key, cell, p), g * (1.0 / (1.0 - p)), 0.0)
        tl.store(to_change + start + column, g.to(to_change.dtype.element_ty), mask=real)
        of_change += g
    store_parts(sums, program, of_change, of_weight, of_bias, column, D)


class Normed(NamedTuple):
    """What the forward pass gives, and what of it the backward pass needs."""

    out: Tensor  # (n, D)
    total: Tensor  # (n, D), what was normalized
    moments: Tensor  # float32 (2, n): its means, and what scaled it


def norm_forward(
    change: Tensor, states: Tensor, vectors: Tensor, *, epsilon: float, draw: Draw
) -> Normed:
    """``layer_norm(states + dropout(change))``.

    Parameters
    ----------
    change, states : (n, D), contiguous and of one type
    vectors : (3, D)
        See `FlatLayer`; the first of them is not read.
    epsilon : float
    draw : Draw
        Which values of `change` are dropped.
    """
    n_rows, dim = states.shape
    made = Normed(
        torch.empty_like(states),
        torch.empty_like(states),
        torch.empty((2, n_rows), dtype=torch.float32, device=states.device),
    )
    tile = forward_tile(dim)
    if n_rows:
        _forward_kernel[(triton.cdiv(n_rows, tile["ROWS"]),)](
            change, states, vectors, draw.seeds, made.total, made.out, made.moments,
            n_rows, draw.place, epsilon, draw.p, **tile, DROPOUT=draw.p > 0,
        )  # fmt: skip
    return made


def norm_backward(
    grad: Tensor, made: Normed, vectors: Tensor, *, draw: Draw, sums: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients (n, D) of `change` and `states`, given that of the output.

    `sums` is OUT float32 (3, D): the gradient of `change` summed over rows, which is that of a bias
    added to it, and those of the norm's weight and bias.
    """
    n_rows, dim = made.total.shape
    to_change, to_states = torch.empty_like(made.total), torch.empty_like(made.total)
    tile = row_tile(dim)
    n_programs = max(1, min(PROGRAMS, n_rows))
    parts = torch.empty((n_programs, 3, dim), dtype=torch.float32, device=grad.device)
    _backward_kernel[(n_programs,)](
        grad, made.total, vectors, made.moments, draw.seeds, to_change, to_states, parts,
        n_rows, draw.place, draw.p, **tile, DROPOUT=draw.p > 0,
    )  # fmt: skip
    torch.sum(parts, 0, out=sums)
    return to_change, to_states


def forward_tile(dim: int) -> dict[str, int]:
    """Constants of the forward kernel."""
    width = triton.next_power_of_2(dim)
    return {"D": dim, "WIDTH": width, "ROWS": max(1, CELLS // width)}


def row_tile(dim: int) -> dict[str, int]:
    """Constants of a kernel that does one row at a time, and its warps."""
    width = triton.next_power_of_2(dim)
    return {"D": dim, "WIDTH": width, "num_warps": max(1, width // WARP_WIDTH)}
