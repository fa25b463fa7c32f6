"""Optimal transport distance between predicted and true labels, in the space of label embeddings.

What it optimizes
    Predictions are to be near the targets even where they miss them: the least cost of moving the
    steps' expected label embeddings, 1 / N each, onto the targets' embeddings, 1 / n each. The cost
    is the cosine distance.
Inputs
    ``expected`` float (b, N, d), the mean of the label embeddings under each step's distribution;
    ``target_embeddings`` float (b, m, d); ``has_target`` bool (b, m). Instances without a target do
    not count.
Reference
    OTSeq2Set, Eq. 14 to 16; Xie et al., UAI 2020. Plans are kept out of the gradient, as in the
    released code: where they are optimal, the gradient is that of the distance.
Relation to siblings
    `set_matching` reads one probability per step, this one all of them; it gives no step a label of
    its own, so it is of no use alone. Its weight is 8 beside 1 for `set_matching`.
Example
    >>> import torch
    >>> targets = torch.eye(3)[None, :2]  # two targets
    >>> there = torch.ones(1, 2, dtype=torch.bool)
    >>> round(transport_loss(targets.flip(1), targets, there).item(), 3)  # the order is free
    0.0
    >>> round(transport_loss(torch.eye(3)[None, 2:], targets, there).item(), 3)
    1.0
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from multitudes.deep.ops.triton_support import runs_triton
from multitudes.seq2set.losses.ipot import transport_plans
from multitudes.seq2set.losses.loss_config import SetLossConfig

DEFAULT = SetLossConfig()


def transport_loss(
    expected: Tensor,
    target_embeddings: Tensor,
    has_target: Tensor,
    *,
    config: SetLossConfig = DEFAULT,
) -> Tensor:
    """Mean distance () of a batch; see the module for the inputs."""
    with torch.autocast(expected.device.type, enabled=False):
        distances = transport_distances(expected, target_embeddings, has_target, config)  # (b,)
    return distances.sum() / has_target.any(dim=1).sum().clamp(min=1)


def transport_distances(
    expected: Tensor, target_embeddings: Tensor, has_target: Tensor, config: SetLossConfig = DEFAULT
) -> Tensor:
    """The distance (b,) of each instance, 0 where it has no target."""
    if runs_triton(expected.device, "transport") and expected.dtype == torch.float32:
        # Here, because Triton may not be installed.
        from multitudes.deep.ops.transport import fits

        if fits(expected.shape[1], target_embeddings.shape[1]):
            distances: Tensor = _DeviceDistances.apply(  # type: ignore[no-untyped-call]
                expected, target_embeddings, has_target, config
            )
            return distances
    cost = cosine_distances(expected, target_embeddings)  # (b, N, m)
    has_step = has_target.new_ones(cost.shape[:2])  # (b, N)
    plans = transport_plans(
        cost.detach(),
        has_step,
        has_target,
        beta=config.transport_beta,
        n_outer=config.transport_steps,
        n_inner=config.transport_inner_steps,
    )  # (b, N, m)
    return (plans * cost).sum(dim=(1, 2))


class _DeviceDistances(Function):
    """See `transport_distances`; the gradient of each distance is known with it."""

    @staticmethod
    def forward(
        ctx: Any,
        expected: Tensor,
        target_embeddings: Tensor,
        has_target: Tensor,
        config: SetLossConfig,
    ) -> Tensor:
        from multitudes.deep.ops.transport import distances_on_device

        distances, gradient = distances_on_device(
            expected,
            target_embeddings.float(),
            has_target,
            beta=config.transport_beta,
            n_outer=config.transport_steps,
            n_inner=config.transport_inner_steps,
        )
        ctx.save_for_backward(gradient)
        return distances

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors  # (b, N, d)
        return grads[0][:, None, None] * gradient, None, None, None


def cosine_distances(rows: Tensor, columns: Tensor) -> Tensor:
    """One minus the cosine of every pair, (b, N, m), of vectors (b, N, d) and (b, m, d)."""
    dtype = torch.promote_types(rows.dtype, torch.float32)
    unit_rows = functional.normalize(rows.to(dtype), dim=2)  # (b, N, d)
    unit_columns = functional.normalize(columns.to(dtype), dim=2)  # (b, m, d)
    return 1 - unit_rows @ unit_columns.transpose(1, 2)
