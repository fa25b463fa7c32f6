"""The regularizer of prototypes in one kernel, through Triton; see `triplets` for why.

The plain twin is `regularizer.compare_spaces`.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.triplets import n_warps
from multitudes.encoder.losses.mining import Triplets

VARYING = ("n_rows",)


@triton.jit(do_not_specialize=VARYING)
def _kernel(
    prototypes,  # IN float32 (r, P + K): similarities to prototypes
    texts,  # IN float32 (r, P + K): to texts, of the same pairs
    has_positive,  # IN bool (r, P)
    has_negative,  # IN bool (r, K)
    parts,  # OUT float32 (4, r): sum and number of positives that fall short, then of negatives
    signs,  # OUT float32 (r, P + K): the slope of a sum over `texts`
    n_rows,
    margin,
    P: tl.constexpr,
    K: tl.constexpr,
    WIDTH: tl.constexpr,
):
    row = tl.program_id(0)
    lane = tl.arange(0, WIDTH)
    start = row * (P + K)
    is_positive, is_negative = lane < P, (lane >= P) & (lane < P + K)
    b = tl.load(prototypes + start + lane, mask=lane < P + K, other=0.0)
    s = tl.load(texts + start + lane, mask=lane < P + K, other=0.0)
    has = tl.load(has_positive + row * P + lane, mask=is_positive, other=0).to(tl.int32)
    has += tl.load(has_negative + row * K + lane - P, mask=is_negative, other=0).to(tl.int32)
    sign = tl.where(is_positive, 1.0, -1.0)
    short = tl.where(has > 0, tl.maximum((s - b) * sign + margin, 0.0), 0.0)
    falls = (short > 0).to(tl.float32)
    tl.store(signs + start + lane, falls * sign, mask=lane < P + K)
    tl.store(parts + row, tl.sum(tl.where(is_positive, short, 0.0), 0))
    tl.store(parts + n_rows + row, tl.sum(tl.where(is_positive, falls, 0.0), 0))
    tl.store(parts + 2 * n_rows + row, tl.sum(tl.where(is_negative, short, 0.0), 0))
    tl.store(parts + 3 * n_rows + row, tl.sum(tl.where(is_negative, falls, 0.0), 0))


class _Regularizer(Function):
    """See `device_regularizer`."""

    @staticmethod
    def forward(
        ctx: Any, prototypes: Tensor, texts: Tensor, triplets: Triplets, margin: float
    ) -> Tensor:
        n_rows, n_positives = triplets.has_positive.shape
        n_negatives = triplets.has_negative.shape[1]
        parts = torch.empty((4, n_rows), dtype=torch.float32, device=texts.device)
        signs = torch.empty_like(texts)
        if n_rows:
            _kernel[(n_rows,)](
                prototypes, texts, triplets.has_positive, triplets.has_negative, parts, signs,
                n_rows, margin, P=n_positives, K=n_negatives,
                WIDTH=triton.next_power_of_2(n_positives + n_negatives),
                num_warps=n_warps(n_positives + n_negatives),
            )  # fmt: skip
        sums, counts = parts.sum(dim=1).view(2, 2).unbind(1)  # (2,) each: positives, negatives
        counts = 2 * counts.clamp(min=1)
        ctx.save_for_backward(signs, counts)
        ctx.n_positives = n_positives
        return (sums / counts).sum()

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        signs, counts = ctx.saved_tensors
        of_positive, of_negative = (upstream[0] / counts).unbind()
        to_texts = signs * of_negative
        torch.mul(signs[:, : ctx.n_positives], of_positive, out=to_texts[:, : ctx.n_positives])
        return -to_texts, to_texts, None, None


def device_regularizer(prototypes: Triplets, texts: Triplets, *, margin: float) -> Tensor:
    """The term () from the same float32 pairs in both spaces."""
    term: Tensor = _Regularizer.apply(prototypes.picked, texts.picked, prototypes, margin)
    return term
