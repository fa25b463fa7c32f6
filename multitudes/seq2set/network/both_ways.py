"""Texts for the two directions of a GRU, and the directions' states as one text again.

The second direction reads each text from its own end. `mirror` says where: position t of a text is
`mirror[t]` of the same text mirrored, padding stays where it is, so that twice is as before. Each
function is one kernel where the device runs Triton (`multitudes.deep.ops.both_ways`), and so
is its gradient; elsewhere they are half a dozen operations.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.triton_support import runs_triton


def both_ways(x: Tensor, mirror: Tensor) -> Tensor:
    """Texts (l, b, d) as they are and mirrored: (2, l, b, d). `mirror` is int64 (l, b)."""
    both: Tensor = _BothWays.apply(x, mirror)  # type: ignore[no-untyped-call]
    return both


def one_way(states: Tensor, mirror: Tensor, active: Tensor) -> Tensor:
    """States (2, l, b, h) by steps of each direction as (l, b, 2 h) by positions of texts.

    0 where `active`, bool (l, b), is not: at padding. Texts (b), not positions, are first in
    memory.
    """
    joined: Tensor = _OneWay.apply(states, mirror, active)  # type: ignore[no-untyped-call]
    return joined


def _on_device(x: Tensor) -> bool:
    return runs_triton(x.device, "both_ways") and x.dtype != torch.float64


class _BothWays(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mirror: Tensor) -> Tensor:
        ctx.save_for_backward(mirror)
        if _on_device(x):
            # Here, because Triton may not be installed.
            from multitudes.deep.ops.both_ways import split_on_device

            return split_on_device(x, mirror)
        return torch.stack([x, mirrored(x, mirror)])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (mirror,) = ctx.saved_tensors
        if _on_device(grads[0]):
            from multitudes.deep.ops.both_ways import sum_on_device

            return sum_on_device(grads[0], mirror), None
        return grads[0][0] + mirrored(grads[0][1], mirror), None


class _OneWay(Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, mirror: Tensor, active: Tensor) -> Tensor:
        ctx.save_for_backward(mirror, active)
        if _on_device(states):
            from multitudes.deep.ops.both_ways import join_on_device

            return join_on_device(states, mirror, active)
        real = torch.where(active[:, :, None], states, 0.0)  # (2, l, b, h)
        x = torch.cat([real[0], mirrored(real[1], mirror)], dim=2)  # (l, b, 2 h)
        return x.transpose(0, 1).contiguous().transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        mirror, active = ctx.saved_tensors
        if _on_device(grads[0]):
            from multitudes.deep.ops.both_ways import part_on_device

            return part_on_device(grads[0], mirror, active), None, None
        first, second = grads[0].chunk(2, dim=2)  # (l, b, h) each
        both = torch.stack([first, mirrored(second, mirror)])  # (2, l, b, h)
        return torch.where(active[:, :, None], both, 0.0), None, None


def mirrored(x: Tensor, mirror: Tensor) -> Tensor:
    """Each text of x (l, b, w) from its end, padding where it is."""
    return x.gather(0, mirror[:, :, None].expand_as(x))
