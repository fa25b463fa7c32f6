"""LightConv: lightweight convolutions over the encoder's memory (Eq. 7)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def shortest_input(kernels: Sequence[int], strides: Sequence[int]) -> int:
    """Positions that one output of all layers together sees: 52 for the paper's kernels."""
    length = 1
    for kernel, stride in zip(reversed(kernels), reversed(strides), strict=True):
        length = (length - 1) * stride + kernel
    return length


class LightConv(nn.Module):
    """A stack of depthwise convolutions whose kernels are softmax-normalised, ReLU after each.

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
        x = memory.transpose(1, 2)  # (b, c, l)
        x = F.pad(x, (0, max(0, self.shortest - x.shape[2])))  # (b, c, >= shortest)
        first, *others = (self._normalised(weight) for weight in self.weights)  # (c, kernel)
        x = F.relu(self._convolved(x, first, self.strides[0]))
        if others:
            kernel, stride = composed(others, self.strides[1:])
            x = self._convolved(x, kernel, stride)
        return x.transpose(1, 2)  # (b, k, c)

    def _convolved(self, x: Tensor, kernel: Tensor, stride: int) -> Tensor:
        weight = kernel.unsqueeze(1).to(x.dtype)  # (c, 1, kernel)
        return F.conv1d(x, weight, stride=stride, groups=self.channels)

    def _normalised(self, weight: Tensor) -> Tensor:
        normal = torch.softmax(weight, dim=1)  # (heads, kernel)
        return normal.repeat_interleave(self.channels // len(weight), dim=0)  # (c, kernel)

    def n_outputs(self, lengths: Tensor) -> Tensor:
        """Outputs (b,) that belong to texts of `lengths` (b,) words: those that see no filling.

        A text shorter than `shortest_input` has one.
        """
        n = lengths.clamp(min=self.shortest)
        for weight, stride in zip(self.weights, self.strides, strict=True):
            n = (n - weight.shape[1]) // stride + 1
        return n


def composed(kernels: Sequence[Tensor], strides: Sequence[int]) -> tuple[Tensor, int]:
    """One kernel (c, width) and stride that do what several kernels (c, w) do in turn."""
    kernel, stride = kernels[0], strides[0]
    for other, own_stride in zip(kernels[1:], strides[1:], strict=True):
        n_channels, width = other.shape
        reach = (width - 1) * stride
        padded = F.pad(kernel, (reach, reach)).unsqueeze(0)  # (1, c, w + 2 * reach)
        weight = other.flip(1).unsqueeze(1)  # (c, 1, width)
        kernel = F.conv1d(padded, weight, dilation=stride, groups=n_channels)[0]  # (c, w + reach)
        stride *= own_stride
    return kernel, stride
