"""The loss of mined triplets in one kernel, through Triton.

The matrices are small, a row of a hundred negatives for each instance, so that the time of plain
operations (some fifty, forwards and backwards) is the host's. One program does one row, and makes
its gradient along with its loss. The plain twin is `weighting.batch_loss` over a hinge.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function

from multitudes.encoder.losses.loss_config import LossConfig
from multitudes.encoder.losses.mining import FAR, Triplets

VARYING = ("n_rows",)


@triton.jit(do_not_specialize=VARYING)
def _triplet_kernel(
    picked,  # IN float32 (r, P + K): similarities to positives, then to negatives
    has_positive,  # IN bool (r, P)
    has_negative,  # IN bool (r, K)
    parts,  # OUT float32 (2, r): a row's loss, whether it counts
    grads,  # OUT float32 (r, P + K): of the row's loss
    n_rows,
    low,  # smallest margin
    high,  # largest margin
    sharpness,  # 1 / temperature of the weights
    far,  # logit of a negative without loss
    P: tl.constexpr,
    K: tl.constexpr,
    WIDTH: tl.constexpr,
    WEIGHTED: tl.constexpr,
    DETACHED: tl.constexpr,
):
    row = tl.program_id(0)
    lane = tl.arange(0, WIDTH)
    own, own_grads = picked + row * (P + K), grads + row * (P + K)
    negative = tl.load(own + P + lane, mask=lane < K, other=0.0)
    there = tl.load(has_negative + row * K + lane, mask=lane < K, other=0).to(tl.int32) > 0
    any_negative = tl.sum(there.to(tl.int32), 0) > 0
    n_positives = 0.0
    for j in tl.static_range(P):
        n_positives += tl.load(has_positive + row * P + j).to(tl.float32)
    n_positives = tl.where(any_negative, n_positives, 0.0)
    share = 1.0 / tl.maximum(n_positives, 1.0)
    row_loss = 0.0
    to_negative = tl.zeros((WIDTH,), tl.float32)
    for j in tl.static_range(P):
        behind = negative - tl.load(own + j)
        margin = tl.minimum(tl.maximum(tl.abs(behind), low), high)
        present = there & (tl.load(has_positive + row * P + j).to(tl.int32) + 0 * lane > 0)
        loss = tl.where(present, tl.maximum(behind + margin, 0.0), 0.0)  # (WIDTH,)
        slope = (loss > 0).to(tl.float32)
        if WEIGHTED:
            logits = tl.where(loss > 0, negative * sharpness, far)
            logits = tl.where(lane < K, logits, -1e30)
            unscaled = tl.exp(logits - tl.max(logits, 0))
            weights = unscaled / tl.sum(unscaled, 0)
            loss_of_j = tl.sum(loss * weights, 0)
            to_positive = tl.sum(slope * weights, 0)
            if DETACHED:
                to_negative += slope * weights
            else:
                to_negative += slope * weights * (1.0 + (loss - loss_of_j) * sharpness)
        else:
            loss_of_j = tl.sum(loss, 0)
            to_positive = tl.sum(slope, 0)
            to_negative += slope
        row_loss += loss_of_j
        tl.store(own_grads + j, -to_positive * share)
    tl.store(own_grads + P + lane, to_negative * share, mask=lane < K)
    tl.store(parts + row, row_loss * share)
    tl.store(parts + n_rows + row, tl.where(n_positives > 0, 1.0, 0.0))


def n_warps(width: int) -> int:
    """For a row of so many values: one, which need not wait for others, while it can hold them."""
    return int(max(1, min(8, triton.next_power_of_2(width) // 256)))


class _TripletLoss(Function):
    """See `device_triplet_loss`."""

    @staticmethod
    def forward(ctx: Any, picked: Tensor, triplets: Triplets, config: LossConfig) -> Tensor:
        n_rows, n_positives = triplets.has_positive.shape
        n_negatives = triplets.has_negative.shape[1]
        parts = torch.empty((2, n_rows), dtype=torch.float32, device=picked.device)
        grads = torch.empty_like(picked)
        low, high = config.gamma_min, config.gamma_max
        if config.margin == "fixed":
            low = high = config.fixed_margin
        if n_rows:
            _triplet_kernel[(n_rows,)](
                picked, triplets.has_positive, triplets.has_negative, parts, grads,
                n_rows, low, high, 1.0 / config.temperature, FAR, P=n_positives, K=n_negatives,
                WIDTH=triton.next_power_of_2(n_negatives),
                WEIGHTED=config.softmax_weights, DETACHED=config.detach_weights,
                num_warps=n_warps(n_negatives),
            )  # fmt: skip
        loss, n_counted = parts.sum(dim=1).unbind()
        n_counted = n_counted.clamp(min=1)
        ctx.save_for_backward(grads, n_counted)
        return loss / n_counted

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        grads, n_counted = ctx.saved_tensors
        return grads * (upstream[0] / n_counted), None, None


def device_triplet_loss(triplets: Triplets, config: LossConfig) -> Tensor:
    """The loss () of float32 triplets with a dynamic or a fixed margin."""
    loss: Tensor = _TripletLoss.apply(triplets.picked, triplets, config)
    return loss
