"""IPOT on CUDA through Triton: a whole batch of plans in one launch.

Iteration by iteration, tensor operations launch hundreds of tiny kernels. Here one program keeps
the plan of one instance in registers until it is done; see `multitudes.seq2set.ipot`.
"""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
# mypy: disallow-untyped-decorators=False, disallow-untyped-calls=False, check-untyped-defs=False

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

MAX_CELLS = 8192  # cells of a padded plan that fit in the registers of one program


@triton.jit
def _plan_kernel(
    cost,  # IN float32 (b, N, m)
    row_mask,  # IN bool (b, N)
    column_mask,  # IN bool (b, m)
    plans,  # OUT float32 (b, N, m)
    n_rows,
    n_columns,
    beta,
    n_outer,
    n_inner,
    TINY: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    instance = tl.program_id(0).to(tl.int64)
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    has_row = tl.load(row_mask + instance * n_rows + row, mask=row < n_rows, other=0) != 0
    at = column_mask + instance * n_columns + column
    has_column = tl.load(at, mask=column < n_columns, other=0) != 0
    real = has_row[:, None] & has_column[None, :]
    cell = (instance * n_rows + row[:, None]) * n_columns + column[None, :]
    price = tl.load(cost + cell, mask=real, other=0.0)
    kernel = tl.where(real, tl.exp(-price / beta), 0.0)  # (ROWS, COLUMNS)
    mu = has_row.to(tl.float32) / tl.maximum(tl.sum(has_row.to(tl.float32), 0), 1.0)
    nu = has_column.to(tl.float32) / tl.maximum(tl.sum(has_column.to(tl.float32), 0), 1.0)
    plan = real.to(tl.float32)
    tiny = tl.full((), TINY, tl.float32)  # a number this small may be taken for a float64
    of_rows, of_columns = mu, nu  # (ROWS,), (COLUMNS,)
    for _ in range(n_outer):
        scaled = kernel * plan
        for _ in range(n_inner):
            of_rows = mu / tl.maximum(tl.sum(scaled * of_columns[None, :], 1), tiny)
            of_columns = nu / tl.maximum(tl.sum(scaled * of_rows[:, None], 0), tiny)
        plan = of_rows[:, None] * scaled * of_columns[None, :]
    inside = (row < n_rows)[:, None] & (column < n_columns)[None, :]
    tl.store(plans + cell, plan, mask=inside)


def fits(cost: Tensor) -> bool:
    """Whether plans of this shape, (b, N, m), fit in registers."""
    n_cells: int = math.prod(triton.next_power_of_2(size) for size in cost.shape[1:])
    return n_cells <= MAX_CELLS


def plans_on_device(
    cost: Tensor,
    row_mask: Tensor,
    column_mask: Tensor,
    *,
    beta: float,
    n_outer: int,
    n_inner: int,
) -> Tensor:
    """Plans float32 (b, N, m); see `multitudes.seq2set.ipot.transport_plans`."""
    n, n_rows, n_columns = cost.shape
    plans = torch.empty((n, n_rows, n_columns), dtype=torch.float32, device=cost.device)
    if plans.numel():
        _plan_kernel[(n,)](
            cost.contiguous(),
            row_mask.contiguous(),
            column_mask.contiguous(),
            plans,
            n_rows,
            n_columns,
            beta,
            n_outer,
            n_inner,
            TINY=torch.finfo(torch.float32).tiny,
            ROWS=triton.next_power_of_2(n_rows),
            COLUMNS=triton.next_power_of_2(n_columns),
            num_warps=4,
        )
    return plans
