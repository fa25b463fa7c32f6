"""Kernels of convolutions in turn as one kernel.

On a GPU one launch for each pair forwards and one backwards, where tensor operations take ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.triton_support import runs_triton


def composed(kernels: Sequence[Tensor], strides: Sequence[int]) -> tuple[Tensor, int]:
    """One kernel (c, width) and stride that do what several kernels (c, w) do in turn."""
    kernel, stride = kernels[0], strides[0]
    for other, own_stride in zip(kernels[1:], strides[1:], strict=True):
        kernel = _pair(kernel, other, stride)  # (c, width)
        stride *= own_stride
    return kernel, stride


def _pair(kernel: Tensor, other: Tensor, stride: int) -> Tensor:
    """A kernel (c, w) of some stride and another (c, v) behind it: (c, w + (v - 1) * stride)."""
    full = kernel.dtype == other.dtype == torch.float32
    on_device = runs_triton(kernel.device, "composition") and full
    if on_device and not torch.compiler.is_compiling():
        both: Tensor = _DevicePair.apply(kernel, other, stride)  # type: ignore[no-untyped-call]
        return both
    with torch.autocast(kernel.device.type, enabled=False):  # little work, and done once
        shifted = _shifted(kernel, other.shape[1], stride)  # (c, v, w + reach)
        return torch.bmm(other.unsqueeze(1), shifted).squeeze(1)  # (c, w + reach)


class _DevicePair(Function):
    """See `_pair`."""

    @staticmethod
    def forward(ctx: Any, kernel: Tensor, other: Tensor, stride: int) -> Tensor:
        # Here, because Triton may not be installed.
        from multitudes.deep.ops.composition import composed_on_device

        kernel, other = kernel.contiguous(), other.contiguous()
        ctx.save_for_backward(kernel, other)
        ctx.stride = stride
        return composed_on_device(kernel, other, stride)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from multitudes.deep.ops.composition import gradients_on_device

        kernel, other = ctx.saved_tensors
        return *gradients_on_device(kernel, other, grads[0].contiguous(), ctx.stride), None


def _shifted(kernel: Tensor, n: int, stride: int) -> Tensor:
    """A kernel (c, w) `n` times, each `stride` further right: (c, n, w + (n - 1) * stride)."""
    n_channels, w = kernel.shape
    width = w + (n - 1) * stride
    # Rows that are `stride` too long begin `stride` further right each, when cut to `width`.
    rows = F.pad(kernel, (0, width + stride - w)).unsqueeze(1).expand(-1, n, -1)
    return rows.reshape(n_channels, -1)[:, : n * width].view(n_channels, n, width)
