"""IPOT on CUDA through Triton: a whole batch of plans, or of distances, in one launch.

Iteration by iteration, tensor operations launch hundreds of tiny kernels. Here one program keeps
the plan of one instance in registers until it is done; see `multitudes.seq2set.losses.ipot`. And
where the distance alone is wanted, from its vectors to its gradient, see
`multitudes.seq2set.losses.transport`.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

MAX_CELLS = 8192  # cells of a padded plan that fit in the registers of one program
LANES = 32  # numbers of a vector that are multiplied together


@triton.jit
def _plan(cost, has_row, has_column, beta, n_outer, n_inner, TINY: tl.constexpr):
    """The plan (ROWS, COLUMNS) of costs of that shape, masks (ROWS,) and (COLUMNS,)."""
    real = has_row[:, None] & has_column[None, :]
    kernel = tl.where(real, tl.exp(-cost / beta), 0.0)  # (ROWS, COLUMNS)
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
    return plan


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
    plan = _plan(price, has_row, has_column, beta, n_outer, n_inner, TINY)
    inside = (row < n_rows)[:, None] & (column < n_columns)[None, :]
    tl.store(plans + cell, plan, mask=inside)


@triton.jit
def _vectors(vectors, first, row, n_rows, row_step, d, LANES: tl.constexpr):
    """Numbers `first` onwards of some vectors: (ROWS, LANES), 0 outside of them."""
    lane = first + tl.arange(0, LANES)
    inside = (row < n_rows)[:, None] & (lane < d)[None, :]
    at = vectors + row.to(tl.int64)[:, None] * row_step + lane[None, :]
    return tl.load(at, mask=inside, other=0.0)


@triton.jit
def _distance_kernel(
    expected,  # IN float32 (b, N, d)
    targets,  # IN float32 (b, m, d)
    column_mask,  # IN bool (b, m)
    distances,  # OUT float32 (b,)
    to_expected,  # OUT float32 (b, N, d), strides of `expected`
    expected_instance,
    expected_row,
    n_rows,
    n_columns,
    d,
    beta,
    n_outer,
    n_inner,
    TINY: tl.constexpr,
    NO_NORM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    LANES: tl.constexpr,
):
    instance = tl.program_id(0).to(tl.int64)
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    expected += instance * expected_instance
    targets += instance * n_columns * d
    at = column_mask + instance * n_columns + column
    has_row = row < n_rows
    has_column = tl.load(at, mask=column < n_columns, other=0) != 0
    product = tl.zeros((ROWS, COLUMNS), tl.float32)
    of_rows, of_columns = tl.zeros((ROWS,), tl.float32), tl.zeros((COLUMNS,), tl.float32)
    for first in range(0, d, LANES):
        one = _vectors(expected, first, row, n_rows, expected_row, d, LANES)
        two = _vectors(targets, first, column, n_columns, d, d, LANES)
        product += tl.dot(one, tl.trans(two), input_precision="ieee")
        of_rows += tl.sum(one * one, 1)
        of_columns += tl.sum(two * two, 1)
    norm = tl.sqrt(of_rows)
    per_row = 1.0 / tl.maximum(norm, NO_NORM)  # (ROWS,)
    per_column = 1.0 / tl.maximum(tl.sqrt(of_columns), NO_NORM)  # (COLUMNS,)
    cosine = product * per_row[:, None] * per_column[None, :]
    plan = _plan(1.0 - cosine, has_row, has_column, beta, n_outer, n_inner, TINY)
    tl.store(distances + instance, tl.sum(tl.sum(plan * (1.0 - cosine), 1), 0))
    # What changes the length of a vector changes no cosine; one without a length has no direction.
    back = tl.where(norm > NO_NORM, tl.sum(plan * cosine, 1) * per_row, 0.0)  # (ROWS,)
    pull = plan * per_column[None, :]  # (ROWS, COLUMNS)
    for first in range(0, d, LANES):
        one = _vectors(expected, first, row, n_rows, expected_row, d, LANES)
        two = _vectors(targets, first, column, n_columns, d, d, LANES)
        grad = back[:, None] * one - tl.dot(pull, two, input_precision="ieee")
        lane = first + tl.arange(0, LANES)
        inside = has_row[:, None] & (lane < d)[None, :]
        place = instance * expected_instance + row.to(tl.int64)[:, None] * expected_row
        tl.store(to_expected + place + lane[None, :], grad * per_row[:, None], mask=inside)


def fits(n_rows: int, n_columns: int) -> bool:
    """Whether plans of this shape fit in registers."""
    n_cells: int = triton.next_power_of_2(n_rows) * triton.next_power_of_2(n_columns)
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
    """Plans float32 (b, N, m); see `multitudes.seq2set.losses.ipot.transport_plans`."""
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


def distances_on_device(
    expected: Tensor,
    targets: Tensor,
    has_target: Tensor,
    *,
    beta: float,
    n_outer: int,
    n_inner: int,
) -> tuple[Tensor, Tensor]:
    """Distances float32 (b,), and their gradient to `expected` (b, N, d), each of its own alone.

    Takes float32 expected (b, N, d), in whatever order in memory, targets (b, m, d) and bool
    has_target (b, m). See `multitudes.seq2set.losses.transport.transport_distances`.
    """
    n, n_rows, d = expected.shape
    n_columns = targets.shape[1]
    distances = expected.new_empty(n)
    gradient = torch.empty_like(expected)
    if gradient.stride() != expected.stride() or expected.stride(2) != 1:
        expected = expected.contiguous()
        gradient = torch.empty_like(expected)
    if n:
        _distance_kernel[(n,)](
            expected,
            targets.contiguous(),
            has_target.contiguous(),
            distances,
            gradient,
            *expected.stride()[:2],
            n_rows,
            n_columns,
            d,
            beta,
            n_outer,
            n_inner,
            TINY=torch.finfo(torch.float32).tiny,
            NO_NORM=1e-12,  # torch.nn.functional.normalize's
            ROWS=max(16, triton.next_power_of_2(n_rows)),
            COLUMNS=max(16, triton.next_power_of_2(n_columns)),
            LANES=LANES,
            num_warps=4,
        )
    return distances, gradient
