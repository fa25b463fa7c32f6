"""A convolution of each channel with a kernel of its own, channels last.

torch's convolutions want channels before positions, and their gradients for as many groups as
channels are slow on a GPU. Where the device runs Triton, `multitudes.seq2set.device_convolution`
does it instead.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from multitudes.encoder.triton_support import runs_triton


def depthwise_conv(x: Tensor, kernel: Tensor, stride: int) -> Tensor:
    """Each output sees the positions from ``stride`` times its own onwards, without padding.

    Parameters
    ----------
    x : (b, l, c)
    kernel : (c, width)
    stride : int

    Returns
    -------
    Tensor (b, k, c)
        k is ``(l - width) // stride + 1``.
    """
    if runs_triton(x.device) and x.dtype != torch.float64 and not torch.compiler.is_compiling():
        convolved: Tensor = _DeviceConv.apply(x, kernel.T, stride)  # type: ignore[no-untyped-call]
        return convolved
    weight = kernel.unsqueeze(1).to(x.dtype)  # (c, 1, width)
    return F.conv1d(x.transpose(1, 2), weight, stride=stride, groups=len(kernel)).transpose(1, 2)


class _DeviceConv(Function):
    """Takes x (b, l, c) and kernel (width, c)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernel: Tensor, stride: int) -> Tensor:
        # Here, because Triton may not be installed.
        from multitudes.seq2set.device_convolution import convolved_on_device

        x, rows = x.contiguous(), kernel.float().contiguous()
        ctx.save_for_backward(x, rows)
        ctx.stride, ctx.kind = stride, kernel.dtype
        return convolved_on_device(x, rows, stride)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        from multitudes.seq2set.device_convolution import gradients_on_device

        x, rows = ctx.saved_tensors
        to_x, to_kernel = gradients_on_device(x, rows, grads[0].contiguous(), ctx.stride)
        return to_x, to_kernel.to(ctx.kind), None
