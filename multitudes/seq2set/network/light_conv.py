"""LightConv: lightweight convolutions over the encoder's memory (Eq. 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multitudes.deep.ops.depthwise_conv import depthwise_conv


def shortest_input(kernels: Sequence[int], strides: Sequence[int]) -> int:
    """Positions that one output of all layers together sees: 52 for the paper's kernels."""
    length = 1
    for kernel, stride in zip(reversed(kernels), reversed(strides), strict=True):
        length = (length - 1) * stride + kernel
    return length


class LightConv(nn.Module):
    """A stack of depthwise convolutions whose kernels are softmax-normalized, ReLU after each.

    Without padding between layers: an input shorter than `shortest_input` is filled up with zeros,
    and gives one output. Kernels are positive, so all ReLUs but the first leave their input as it
    is, and the layers behind it are one convolution with a composed kernel: exactly the same, in
    two convolutions instead of four.

    Parameters
    ----------
    channels : int
    kernels, strides : sequences of int
        One of each for each layer.
    heads : int, optional
        Channels ``i * channels / heads`` onwards share one kernel; by default each channel has its
        own. (The paper says that weights are shared over channels, but not how many kernels there
        are; the sizes in its Table 7 agree with one for each channel.)
    """

    def __init__(
        self,
        channels: int,
        *,
        kernels: Sequence[int],
        strides: Sequence[int],
        heads: int | None = None,
    ) -> None:
        super().__init__()
        self.channels, self.strides = channels, tuple(strides)
        self.shortest = shortest_input(kernels, strides)
        self.weights = nn.ParameterList(
            torch.empty(heads or channels, kernel).uniform_(-0.1, 0.1) for kernel in kernels
        )

    def forward(self, memory: Tensor) -> Tensor:
        """Convolved memory (b, k, channels) of a memory (b, l, channels) that is 0 at padding."""
        first, *others = (self._normalized(weight) for weight in self.weights)  # (c, kernel)
        x = depthwise_conv(
            memory, first, self.strides[0], length=self.shortest, relu=True
        )  # (b, l', c)
        if others:
            x = depthwise_conv(x, *composed(others, self.strides[1:]))  # (b, k, c)
        return x

    def _normalized(self, weight: Tensor) -> Tensor:
        normal = torch.softmax(weight, dim=1)  # (heads, kernel)
        n_shared = self.channels // len(weight)
        return normal if n_shared == 1 else normal.repeat_interleave(n_shared, dim=0)  # (c, kernel)

    def n_outputs(self, lengths: Tensor) -> Tensor:
        """Outputs (b,) that belong to texts of `lengths` (b,) words: those that see no filling.

        A text shorter than `shortest_input` has one.
        """
        # All layers together are one of width `shortest`.
        return (lengths.clamp(min=self.shortest) - self.shortest) // math.prod(self.strides) + 1


def composed(kernels: Sequence[Tensor], strides: Sequence[int]) -> tuple[Tensor, int]:
    """One kernel (c, width) and stride that do what several kernels (c, w) do in turn."""
    kernel, stride = kernels[0], strides[0]
    for other, own_stride in zip(kernels[1:], strides[1:], strict=True):
        kernel = _pair(kernel, other, stride)  # (c, width)
        stride *= own_stride
    return kernel, stride


def _pair(kernel: Tensor, other: Tensor, stride: int) -> Tensor:
    """A kernel (c, w) of some stride and another (c, v) behind it: (c, w + (v - 1) * stride)."""
    with torch.autocast(kernel.device.type, enabled=False):  # little work, and done once
        shifted = _shifted(kernel, other.shape[1], stride)  # (c, v, w + reach)
        return torch.bmm(other.unsqueeze(1), shifted).squeeze(1)  # (c, w + reach)


def _shifted(kernel: Tensor, n: int, stride: int) -> Tensor:
    """A kernel (c, w) `n` times, each `stride` further right: (c, n, w + (n - 1) * stride)."""
    n_channels, w = kernel.shape
    width = w + (n - 1) * stride
    # Rows that are `stride` too long begin `stride` further right each, when cut to `width`.
    rows = F.pad(kernel, (0, width + stride - w)).unsqueeze(1).expand(-1, n, -1)
    return rows.reshape(n_channels, -1)[:, : n * width].view(n_channels, n, width)
