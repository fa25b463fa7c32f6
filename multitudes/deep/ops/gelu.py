"""GELU and its gradient, the latter with the gradient of the bias before it.

The states that GELU is given are the widest of a layer. Backwards, one kernel makes their gradient,
in place, and sums it up for the bias; plain operations read and write them five times, not three.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from multitudes.deep.ops.switch import jit, runs_kernel, tl, triton

CELLS = 2048  # of a tile of the forward pass
ROWS, COLUMNS = 8, 256  # of a tile of the backward pass: 16 values for each thread of four warps
PROGRAMS = 1188  # of the backward pass: as many as fit on an H100 at once, by their registers


def gelu_forward(before: Tensor) -> Tensor:
    """What GELU makes of `before` (n, c), contiguous."""
    if not runs_kernel("gelu", before.device):
        return F.gelu(before)
    out = torch.empty_like(before)
    if before.numel():
        _forward_kernel[(triton.cdiv(before.numel(), CELLS),)](
            before, out, before.numel(), CELLS=CELLS
        )
    return out


def gelu_backward(grad: Tensor, before: Tensor, *, sums: Tensor) -> None:
    """Turn the gradient of what GELU made into that of what it was given.

    Parameters
    ----------
    grad : IN/OUT (n, c), contiguous
    before : IN (n, c), contiguous
    sums : OUT float32 (c,)
        The new gradient summed over rows.
    """
    if not runs_kernel("gelu", grad.device):
        x = before.to(sums.dtype)
        below = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        density = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        made = grad * (below + x * density)  # (n, c)
        grad.copy_(made)
        torch.sum(made, 0, out=sums)
        return
    n_rows, n_columns = before.shape
    n_blocks = triton.cdiv(n_columns, COLUMNS)
    n_programs = max(1, min(PROGRAMS // n_blocks, triton.cdiv(n_rows, ROWS)))  # for each block
    parts = torch.empty((n_programs, n_columns), dtype=torch.float32, device=grad.device)
    _backward_kernel[(n_blocks, n_programs)](
        before, grad, parts, n_rows, C=n_columns, ROWS=ROWS, COLUMNS=COLUMNS
    )
    torch.sum(parts, 0, out=sums)


@jit()
def _parts(x):
    """The distribution function of the normal distribution at float32 x, and its density.

    The first is Abramowitz and Stegun's 7.1.26, off by less than 1e-7: it takes the same
    exponential as the density, where a library's erf takes more than all the rest.
    """
    t = 1.0 / (1.0 + 0.23164189 * tl.abs(x))
    bell = tl.exp2(x * x * -0.72134752)  # exp(-x * x / 2)
    beyond = t * (
        0.12741480 + t * (-0.14224837 + t * (0.71070687 + t * (-0.72657601 + t * 0.53070271)))
    )
    beyond *= bell  # P(normal > |x|)
    return tl.where(x < 0, beyond, 1.0 - beyond), bell * 0.39894228


@jit(do_not_specialize=("n_cells",))
def _forward_kernel(
    before,  # IN (n_cells,)
    out,  # OUT (n_cells,)
    n_cells,
    CELLS: tl.constexpr,
):
    cell = tl.program_id(0).to(tl.int64) * CELLS + tl.arange(0, CELLS)
    inside = cell < n_cells
    x = tl.load(before + cell, mask=inside, other=0.0).to(tl.float32)
    below, _ = _parts(x)
    tl.store(out + cell, (x * below).to(out.dtype.element_ty), mask=inside)


@jit(do_not_specialize=("n_rows",))
def _backward_kernel(
    before,  # IN (n, C): what GELU was given
    grad,  # IN/OUT (n, C): of what it made, then of what it was given
    sums,  # OUT float32 (programs, C): a part of the sum over rows from each
    n_rows,
    C: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    program, n_programs = tl.program_id(1), tl.num_programs(1)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    real = column < C
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(program * ROWS, n_rows, n_programs * ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < n_rows)[:, None] & real[None, :]
        cell = row[:, None].to(tl.int64) * C + column[None, :]
        x = tl.load(before + cell, mask=inside, other=0.0).to(tl.float32)
        below, density = _parts(x)
        g = tl.load(grad + cell, mask=inside, other=0.0).to(tl.float32) * (below + x * density)
        tl.store(grad + cell, g.to(grad.dtype.element_ty), mask=inside)
        total += g
    tl.store(sums + program * C + column, tl.sum(total, 0), mask=real)
