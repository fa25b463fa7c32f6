"""The backward pass of GELU through Triton: in place, with the gradient of the bias before it.

One after the other they read and write the widest states of a layer five times; here it is three.
The kernel's plain twin is ``torch.nn.functional.gelu`` and a sum over rows.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, COLUMNS = 8, 256  # of a tile: 16 values for each thread of four warps
PROGRAMS = 1188  # as many as fit on an H100 at once, by their registers
VARYING = ("n_rows",)


@triton.jit
def _slope(x):
    """The derivative of x * P(normal < x), for float32 x.

    The normal distribution is Abramowitz and Stegun's 7.1.26, off by less than 1e-7: it takes the
    same exponential as the density, where a library's erf takes more than all the rest.
    """
    t = 1.0 / (1.0 + 0.23164189 * tl.abs(x))
    bell = tl.exp2(x * x * -0.72134752)  # exp(-x * x / 2)
    beyond = t * (
        0.12741480 + t * (-0.14224837 + t * (0.71070687 + t * (-0.72657601 + t * 0.53070271)))
    )
    beyond *= bell  # P(normal > |x|)
    return tl.where(x < 0, beyond, 1.0 - beyond) + x * bell * 0.39894228


@triton.jit(do_not_specialize=VARYING)
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
        g = tl.load(grad + cell, mask=inside, other=0.0).to(tl.float32) * _slope(x)
        tl.store(grad + cell, g.to(grad.dtype.element_ty), mask=inside)
        total += g
    tl.store(sums + program * C + column, tl.sum(total, 0), mask=real)


def gelu_backward_(grad: Tensor, before: Tensor, *, sums: Tensor) -> None:
    """Turn the gradient of what GELU made into that of what it was given, in place.

    Parameters
    ----------
    grad, before : (n, C), contiguous
    sums : OUT float32 (C,)
        The new gradient summed over rows.
    """
    n_rows, n_columns = before.shape
    n_blocks = triton.cdiv(n_columns, COLUMNS)
    n_programs = max(1, min(PROGRAMS // n_blocks, triton.cdiv(n_rows, ROWS)))  # for each block
    parts = torch.empty((n_programs, n_columns), dtype=torch.float32, device=grad.device)
    _backward_kernel[(n_blocks, n_programs)](
        before, grad, parts, n_rows, C=n_columns, ROWS=ROWS, COLUMNS=COLUMNS
    )
    torch.sum(parts, 0, out=sums)
