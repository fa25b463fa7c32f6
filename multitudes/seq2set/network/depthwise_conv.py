"""A convolution of each channel with a kernel of its own, channels last.

torch's convolutions want channels before positions, and their gradients for as many groups as
channels are slow on a GPU. Where the device runs Triton, `multitudes.deep.ops.convolution`
does it instead.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.triton_support import runs_triton


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
    on_device = runs_triton(x.device, "convolution") and x.dtype != torch.float64
    if on_device and not torch.compiler.is_compiling():
        convolved: Tensor = _DeviceConv.apply(  # type: ignore[no-untyped-call]
            x, kernel.T, stride, length, relu
        )
        return convolved
    more = length - x.shape[1]
    x = F.pad(x, (0, 0, 0, more)) if more else x  # (b, length, c)
    weight = kernel.unsqueeze(1).to(x.dtype)  # (c, 1, width)
    out = F.conv1d(x.transpose(1, 2), weight, stride=stride, groups=len(kernel)).transpose(1, 2)
    return F.relu(out) if relu else out


class _DeviceConv(Function):
    """Takes x (b, l, c) and kernel (width, c)."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, kernel: Tensor, stride: int, length: int, relu: bool
    ) -> Tensor:
        # Here, because Triton may not be installed.
        from multitudes.deep.ops.convolution import convolved_on_device

        x, rows = x.contiguous(), kernel.float().contiguous()
        out = convolved_on_device(x, rows, stride, length=length, relu=relu)
        ctx.save_for_backward(x, rows, out if relu else None)
        ctx.stride, ctx.kind = stride, kernel.dtype
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from multitudes.deep.ops.convolution import gradients_on_device

        x, rows, out = ctx.saved_tensors
        to_x, to_kernel = gradients_on_device(x, rows, grads[0].contiguous(), ctx.stride, out)
        return to_x, to_kernel.to(ctx.kind), None, None, None
