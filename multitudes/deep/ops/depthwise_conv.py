"""A convolution of each channel with a kernel of its own, channels last.

torch's convolutions want channels before positions, and their gradients for as many groups as
channels are slow on a GPU. In the kernels channels lie side by side in memory, so that lanes are
channels and nothing is transposed. A program does some positions of some channels of one text. A
ReLU behind the convolution is part of it, and what positions behind the last would hold is 0. A
wide kernel has few outputs, one for most texts, and a narrow one many: as many factors and outputs
are read together as it takes for both to fill a program.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.switch import jit, runs_kernel, tl, triton

POSITIONS, CHANNELS = 8, 128
PAIRS = 32  # of factors and outputs, read together
PROGRAMS = 2048  # enough to fill a large device


def depthwise_conv(
    x: Tensor, kernel: Tensor, stride: int, *, length: int | None = None, relu: bool = False
) -> Tensor:
    """Each output sees the positions from ``stride`` times its own onwards.

    Parameters
    ----------
    x : (b, l, c)
    kernel : (c, width)
    stride : int
    length : int, optional
        Positions that x counts for, if it has fewer: 0 behind its last. Without, as many as it has.
    relu : bool
        Whether a ReLU is behind it.

    Returns
    -------
    Tensor (b, k, c)
        k is ``(length - width) // stride + 1``.
    """
    length = max(length or 0, x.shape[1])
    takes_kernel = x.dtype != torch.float64 and runs_kernel("depthwise_conv", x.device)
    if takes_kernel and not torch.compiler.is_compiling():
        convolved: Tensor = _KernelConv.apply(x, kernel.T, stride, length, relu)
        return convolved
    more = length - x.shape[1]
    x = F.pad(x, (0, 0, 0, more)) if more else x  # (b, length, c)
    weight = kernel.unsqueeze(1).to(x.dtype)  # (c, 1, width)
    out = F.conv1d(x.transpose(1, 2), weight, stride=stride, groups=len(kernel)).transpose(1, 2)
    return F.relu(out) if relu else out


class _KernelConv(Function):
    """Takes x (b, l, c) and kernel (width, c)."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, kernel: Tensor, stride: int, length: int, relu: bool
    ) -> Tensor:
        x, rows = x.contiguous(), kernel.float().contiguous()
        out = _convolved(x, rows, stride, length=length, relu=relu)
        ctx.save_for_backward(x, rows, out if relu else None)
        ctx.stride, ctx.kind = stride, kernel.dtype
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, rows, out = ctx.saved_tensors
        to_x, to_kernel = _gradients(x, rows, grads[0].contiguous(), ctx.stride, out)
        return to_x, to_kernel.to(ctx.kind), None, None, None


# -------------------------------------------------------------------- kernels


@jit()
def _forward_kernel(
    x,  # IN (b, l, c)
    kernel,  # IN float32 (width, c)
    out,  # OUT (b, k, c)
    l,  # noqa: E741 (as in the shapes)
    k,
    c,
    width,
    stride,
    RELU: tl.constexpr,
    P: tl.constexpr,
    J: tl.constexpr,
    C: tl.constexpr,
):
    text, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * P + tl.arange(0, P)
    lane = tl.program_id(2) * C + tl.arange(0, C)
    inside = (at < k)[:, None] & (lane < c)[None, :]
    products = tl.zeros((J, P, C), tl.float32)
    for first in range(0, width, J):
        j = first + tl.arange(0, J)
        there = (j < width)[:, None] & (lane < c)[None, :]
        factor = tl.load(kernel + j[:, None] * c + lane[None, :], mask=there, other=0.0)
        seen = at[None, :] * stride + j[:, None]  # (J, P)
        place = (text * l + seen)[:, :, None] * c + lane[None, None, :]
        mask = (seen < l)[:, :, None] & there[:, None, :] & inside[None, :, :]
        part = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)  # (J, P, C)
        products += factor[:, None, :] * part
    total = tl.sum(products, 0)  # (P, C)
    if RELU:
        total = tl.maximum(total, 0.0)
    place = (text * k + at)[:, None] * c + lane[None, :]
    tl.store(out + place, total.to(out.dtype.element_ty), mask=inside)


@jit()
def _given(grad, out, place, mask, RELU: tl.constexpr):
    """The gradient that arrives, past the ReLU."""
    given = tl.load(grad + place, mask=mask, other=0.0).to(tl.float32)
    if RELU:
        there = tl.load(out + place, mask=mask, other=0.0).to(tl.float32)
        given = tl.where(there > 0.0, given, 0.0)
    return given


@jit()
def _to_x_kernel(
    grad,  # IN (b, k, c)
    out,  # IN (b, k, c)
    kernel,  # IN float32 (width, c)
    to_x,  # OUT (b, l, c)
    l,  # noqa: E741 (as in the shapes)
    k,
    c,
    width,
    stride,
    RELU: tl.constexpr,
    P: tl.constexpr,
    C: tl.constexpr,
):
    text, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * P + tl.arange(0, P)
    lane = tl.program_id(2) * C + tl.arange(0, C)
    channel = (lane < c)[None, :]
    total = tl.zeros((P, C), tl.float32)
    first = tl.program_id(1) * P
    # Only outputs that exist, among those that could see a position.
    least = tl.maximum(first // stride - (k - 1), 0)
    most = tl.minimum((width + stride - 1) // stride, (first + P - 1) // stride + 1)
    for back in range(least, most):
        output = at // stride - back  # that sees this position through factor j
        j = at - output * stride
        seen = ((output >= 0) & (output < k) & (j < width))[:, None] & channel
        factor = tl.load(kernel + j[:, None] * c + lane[None, :], mask=seen, other=0.0)
        place = (text * k + output)[:, None] * c + lane[None, :]
        total += factor * _given(grad, out, place, seen, RELU)
    place = (text * l + at)[:, None] * c + lane[None, :]
    tl.store(to_x + place, total.to(to_x.dtype.element_ty), mask=(at < l)[:, None] & channel)


@jit()
def _to_kernel_kernel(
    x,  # IN (b, l, c)
    grad,  # IN (b, k, c)
    out,  # IN (b, k, c)
    to_kernel,  # OUT float32 (parts, width, c), to be summed
    n,
    l,  # noqa: E741 (as in the shapes)
    k,
    c,
    width,
    stride,
    RELU: tl.constexpr,
    P: tl.constexpr,
    J: tl.constexpr,
    C: tl.constexpr,
):
    part, j = tl.program_id(0), tl.program_id(1) * J + tl.arange(0, J)
    lane = tl.program_id(2) * C + tl.arange(0, C)
    inside = (j < width)[:, None] & (lane < c)[None, :]
    products = tl.zeros((J, P, C), tl.float32)
    for text in range(part, n, tl.num_programs(0)):
        instance = tl.cast(text, tl.int64)
        for first in range(0, k, P):
            output = first + tl.arange(0, P)
            there = (output < k)[:, None] & (lane < c)[None, :]
            place = (instance * k + output)[:, None] * c + lane[None, :]
            given = _given(grad, out, place, there, RELU)  # (P, C)
            at = output[None, :] * stride + j[:, None]  # (J, P)
            place = (instance * l + at)[:, :, None] * c + lane[None, None, :]
            mask = (at < l)[:, :, None] & there[None, :, :] & inside[:, None, :]
            seen = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)  # (J, P, C)
            products += given[None, :, :] * seen
    place = (part * width + j)[:, None] * c + lane[None, :]
    tl.store(to_kernel + place, tl.sum(products, 1), mask=inside)


def _convolved(x: Tensor, kernel: Tensor, stride: int, *, length: int, relu: bool) -> Tensor:
    """(b, k, c) of x (b, l, c) and kernel float32 (width, c), both contiguous.

    x counts as `length` positions, with 0 behind the last that it has.
    """
    n, own_length, c = x.shape
    width = len(kernel)
    k = (length - width) // stride + 1
    out = x.new_empty((n, k, c))
    sizes = (own_length, k, c, width, stride)
    pairs = _pairs(width)
    _forward_kernel[_grid(n, k, c, pairs["P"])](
        x, kernel, out, *sizes, RELU=relu, **pairs, C=CHANNELS, num_warps=4
    )
    return out


def _gradients(
    x: Tensor, kernel: Tensor, grad: Tensor, stride: int, out: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Gradients of x (b, l, c) and kernel (width, c), of the result's gradient (b, k, c).

    `out` is the result, where there was a ReLU.
    """
    n, length, c = x.shape
    width, k = len(kernel), grad.shape[1]
    to_x = torch.empty_like(x)
    sizes = (length, k, c, width, stride)
    settings = {"RELU": out is not None, "C": CHANNELS, "num_warps": 4}
    out = grad if out is None else out
    _to_x_kernel[_grid(n, length, c, POSITIONS)](
        grad, out, kernel, to_x, *sizes, P=POSITIONS, **settings
    )
    pairs = _pairs(width)
    _, *blocks = _grid(n, width, c, pairs["J"])
    n_parts = min(n, triton.cdiv(PROGRAMS, blocks[0] * blocks[1]))
    parts = kernel.new_empty((n_parts, width, c))
    _to_kernel_kernel[(n_parts, *blocks)](x, grad, out, parts, n, *sizes, **pairs, **settings)
    return to_x, parts.sum(dim=0)


def _pairs(width: int) -> dict[str, int]:
    """Factors J and outputs P that are read together."""
    n_factors = min(PAIRS, triton.next_power_of_2(width))
    return {"J": n_factors, "P": PAIRS // n_factors}


def _grid(n: int, positions: int, c: int, at_once: int) -> tuple[int, int, int]:
    return n, triton.cdiv(positions, at_once), triton.cdiv(c, CHANNELS)
