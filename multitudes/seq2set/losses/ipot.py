"""Optimal transport plans of a whole batch, by IPOT in one masked iteration."""

from __future__ import annotations

import torch
from torch import Tensor

from multitudes.deep.ops.triton_support import runs_triton


@torch.no_grad()
def transport_plans(
    cost: Tensor,
    row_mask: Tensor,
    column_mask: Tensor,
    *,
    beta: float = 1.0,
    n_outer: int = 50,
    n_inner: int = 1,
) -> Tensor:
    """Plans between uniform distributions over each instance's real rows and columns.

    Parameters
    ----------
    cost : float tensor (b, N, m)
        Cost of moving from a row to a column; masked places may hold anything finite.
    row_mask : bool tensor (b, N)
        The rows that are there.
    column_mask : bool tensor (b, m)
        The columns that are there.
    beta : float
        Weight of the proximal term: a smaller one needs fewer iterations, and loses digits.
    n_outer, n_inner : int
        Proximal steps, and scaling steps within each. The plans tend to the exact ones as `n_outer`
        grows, whatever `beta`.

    Returns
    -------
    float tensor (b, N, m)
        Columns sum to 1 / columns, rows to 1 / rows up to convergence; 0 where masked, and all 0
        for an instance without a row or a column. No gradient flows through a plan: at the optimum
        the distance's gradient to the cost is the plan itself.

    References
    ----------
    OTSeq2Set, Eq. 14; Xie et al., "A fast proximal point method for computing exact Wasserstein
    distance", UAI 2020, Algorithm 1.
    """
    if runs_triton(cost.device, "transport") and cost.dtype == torch.float32:
        # Here, because Triton may not be installed.
        from multitudes.deep.ops.transport import fits, plans_on_device

        if fits(*cost.shape[1:]):
            return plans_on_device(
                cost, row_mask, column_mask, beta=beta, n_outer=n_outer, n_inner=n_inner
            )
    return _plans(cost, row_mask, column_mask, beta=beta, n_outer=n_outer, n_inner=n_inner)


def _plans(
    cost: Tensor,
    row_mask: Tensor,
    column_mask: Tensor,
    *,
    beta: float,
    n_outer: int,
    n_inner: int,
) -> Tensor:
    """The plans by tensor operations, on any device."""
    real = row_mask.unsqueeze(2) & column_mask.unsqueeze(1)  # (b, N, m)
    kernel = torch.where(real, torch.exp(-cost / beta), 0.0)  # (b, N, m)
    mu, nu = _uniform(row_mask, cost), _uniform(column_mask, cost)  # (b, N), (b, m)
    tiny = torch.finfo(cost.dtype).tiny  # a sum over nothing is 0: 0 / tiny stays 0
    plan = real.to(cost.dtype)  # (b, N, m)
    columns = nu.clone()  # (b, m)
    for _ in range(n_outer):
        scaled = kernel * plan  # (b, N, m)
        for _ in range(n_inner):
            of_rows = torch.einsum("bnm,bm->bn", scaled, columns)  # (b, N)
            rows = mu / of_rows.clamp(min=tiny)  # (b, N)
            of_columns = torch.einsum("bnm,bn->bm", scaled, rows)  # (b, m)
            columns = nu / of_columns.clamp(min=tiny)  # (b, m)
        plan = rows.unsqueeze(2) * scaled * columns.unsqueeze(1)  # (b, N, m)
    return plan


def _uniform(mask: Tensor, like: Tensor) -> Tensor:
    """1 / count at the places that are there, else 0; of the shape of `mask`."""
    there = mask.to(like.dtype)
    return there / there.sum(dim=1, keepdim=True).clamp(min=1)
