"""GELU of a product and its bias, forwards and backwards.

The states in the middle of a feed-forward part are the widest of a layer. Backwards, one kernel
makes their gradient and sums it up for the bias, where plain operations read and write them twice.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.switch import jit, runs_kernel, tl, triton

ROWS, COLUMNS = 8, 256  # of a tile: 16 values for each thread of four warps
PROGRAMS = 1188  # of the backward pass: as many as fit on an H100 at once, by their registers
VARYING = ("n_rows",)


def biased_gelu(product: Tensor, bias: Tensor) -> Tensor:
    """``gelu(product + bias)``, (n, c), of a product (n, c) and a bias (c,)."""
    kinds = (torch.float32, torch.bfloat16, torch.float16)
    if runs_kernel("biased_gelu", product.device) and product.dtype in kinds:
        made: Tensor = _BiasedGelu.apply(product, bias)
        return made
    return F.gelu(product + bias)


class _BiasedGelu(Function):
    """The operation by kernels."""

    @staticmethod
    def forward(ctx: Any, product: Tensor, bias: Tensor) -> Tensor:
        product = product.contiguous()
        n_rows, n_columns = product.shape
        out = torch.empty_like(product)
        grid = (triton.cdiv(n_columns, COLUMNS), triton.cdiv(n_rows, ROWS))
        if n_rows:
            _forward_kernel[grid](
                product, bias, out, n_rows, C=n_columns, ROWS=ROWS, COLUMNS=COLUMNS
            )
        ctx.save_for_backward(product, bias)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        product, bias = ctx.saved_tensors
        n_rows, n_columns = product.shape
        to_product = torch.empty_like(product)
        n_blocks = triton.cdiv(n_columns, COLUMNS)
        # For each block of columns.
        n_programs = max(1, min(PROGRAMS // n_blocks, triton.cdiv(n_rows, ROWS)))
        parts = torch.empty((n_programs, n_columns), dtype=torch.float32, device=product.device)
        _backward_kernel[(n_blocks, n_programs)](
            product, bias, grads[0].contiguous(), to_product, parts, n_rows,
            C=n_columns, ROWS=ROWS, COLUMNS=COLUMNS,
        )  # fmt: skip
        return to_product, parts.sum(0).to(bias.dtype)


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


@jit(do_not_specialize=VARYING)
def _forward_kernel(
    product,  # IN (n, C)
    bias,  # IN (C,)
    out,  # OUT (n, C)
    n_rows,
    C: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    real = column < C
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    inside = (row < n_rows)[:, None] & real[None, :]
    cell = row[:, None].to(tl.int64) * C + column[None, :]
    x = tl.load(product + cell, mask=inside, other=0.0).to(tl.float32)
    x += tl.load(bias + column, mask=real, other=0.0).to(tl.float32)[None, :]
    below, _ = _parts(x)
    tl.store(out + cell, (x * below).to(out.dtype.element_ty), mask=inside)


@jit(do_not_specialize=VARYING)
def _backward_kernel(
    product,  # IN (n, C)
    bias,  # IN (C,)
    grad,  # IN (n, C)
    to_product,  # OUT (n, C)
    sums,  # OUT float32 (programs, C): a part of the sum over rows from each
    n_rows,
    C: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    program, n_programs = tl.program_id(1), tl.num_programs(1)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    real = column < C
    b = tl.load(bias + column, mask=real, other=0.0).to(tl.float32)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(program * ROWS, n_rows, n_programs * ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < n_rows)[:, None] & real[None, :]
        cell = row[:, None].to(tl.int64) * C + column[None, :]
        x = tl.load(product + cell, mask=inside, other=0.0).to(tl.float32) + b[None, :]
        below, density = _parts(x)
        g = tl.load(grad + cell, mask=inside, other=0.0).to(tl.float32)
        g *= below + x * density
        tl.store(to_product + cell, g.to(to_product.dtype.element_ty), mask=inside)
        total += g
    tl.store(sums + program * C + column, tl.sum(total, 0), mask=real)
