"""Kernels of two convolutions as one, on CUDA through Triton; see `kernel_composition`.

A program does some channels: kernels are short, and stay in a processor's cache.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

CHANNELS = 8


@triton.jit
def _compose_kernel(
    kernel,  # IN float32 (c, w)
    other,  # IN float32 (c, v)
    out,  # OUT float32 (c, width)
    c,
    w,
    v,
    width,
    stride,
    C: tl.constexpr,
    WIDTH: tl.constexpr,
):
    channel, at = tl.program_id(0) * C + tl.arange(0, C), tl.arange(0, WIDTH)
    inside = channel < c
    total = tl.zeros((C, WIDTH), tl.float32)
    for j in range(0, v):
        factor = tl.load(other + channel * v + j, mask=inside, other=0.0)
        place = at - j * stride
        mask = inside[:, None] & ((place >= 0) & (place < w))[None, :]
        part = tl.load(kernel + channel[:, None] * w + place[None, :], mask=mask, other=0.0)
        total += factor[:, None] * part
    place = channel[:, None] * width + at[None, :]
    tl.store(out + place, total, mask=inside[:, None] & (at < width)[None, :])


@triton.jit
def _gradients_kernel(
    kernel,  # IN float32 (c, w)
    other,  # IN float32 (c, v)
    grad,  # IN float32 (c, width)
    to_kernel,  # OUT float32 (c, w)
    to_other,  # OUT float32 (c, v)
    c,
    w,
    v,
    width,
    stride,
    C: tl.constexpr,
    W: tl.constexpr,
    V: tl.constexpr,
):
    channel = tl.program_id(0) * C + tl.arange(0, C)
    i, j = tl.arange(0, W), tl.arange(0, V)
    inside = channel < c
    own, others = inside[:, None] & (i < w)[None, :], inside[:, None] & (j < v)[None, :]
    grad += channel[:, None] * width
    total = tl.zeros((C, W), tl.float32)
    for k in range(0, v):
        factor = tl.load(other + channel * v + k, mask=inside, other=0.0)
        given = tl.load(grad + (i + k * stride)[None, :], mask=own, other=0.0)
        total += factor[:, None] * given
    tl.store(to_kernel + channel[:, None] * w + i[None, :], total, mask=own)
    total = tl.zeros((C, V), tl.float32)
    for k in range(0, w):
        factor = tl.load(kernel + channel * w + k, mask=inside, other=0.0)
        given = tl.load(grad + (k + j * stride)[None, :], mask=others, other=0.0)
        total += factor[:, None] * given
    tl.store(to_other + channel[:, None] * v + j[None, :], total, mask=others)


def composed_on_device(kernel: Tensor, other: Tensor, stride: int) -> Tensor:
    """(c, w + (v - 1) * stride) of kernel (c, w) and other (c, v), both contiguous."""
    (c, w), v = kernel.shape, other.shape[1]
    width = w + (v - 1) * stride
    out = kernel.new_empty((c, width))
    sizes = (c, w, v, width, stride)
    _compose_kernel[(triton.cdiv(c, CHANNELS),)](
        kernel, other, out, *sizes, C=CHANNELS, WIDTH=triton.next_power_of_2(width), num_warps=2
    )
    return out


def gradients_on_device(
    kernel: Tensor, other: Tensor, grad: Tensor, stride: int
) -> tuple[Tensor, Tensor]:
    """Gradients of kernel (c, w) and other (c, v), of the result's (c, width); all contiguous."""
    (c, w), v = kernel.shape, other.shape[1]
    to_kernel, to_other = torch.empty_like(kernel), torch.empty_like(other)
    _gradients_kernel[(triton.cdiv(c, CHANNELS),)](
        kernel,
        other,
        grad,
        to_kernel,
        to_other,
        *(c, w, v, grad.shape[1], stride),
        C=CHANNELS,
        W=triton.next_power_of_2(w),
        V=triton.next_power_of_2(v),
        num_warps=2,
    )
    return to_kernel, to_other
