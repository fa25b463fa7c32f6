"""Optimal transport of a whole batch by IPOT: plans, and distances with their gradient.

Iteration by iteration, tensor operations launch hundreds of tiny kernels. In the kernel one program
keeps the plan of one instance in registers until it is done, from the vectors to the distance and
its gradient.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from multitudes.deep.ops.switch import jit, runs_kernel, tl, triton

MAX_CELLS = 8192  # cells of a padded plan that fit in the registers of one program
LANES = 32  # numbers of a vector that are multiplied together


class Iterations(NamedTuple):
    """How plans are found.

    Parameters
    ----------
    beta : float
        Weight of the proximal term: a smaller one needs fewer iterations, and loses digits.
    n_outer, n_inner : int
        Proximal steps, and scaling steps within each. The plans tend to the exact ones as `n_outer`
        grows, whatever `beta`.
    """

    beta: float = 1.0
    n_outer: int = 50
    n_inner: int = 1


DEFAULT = Iterations()


def transport_distances(
    expected: Tensor, targets: Tensor, has_target: Tensor, iterations: Iterations = DEFAULT
) -> Tensor:
    """The cost (b,) of moving each instance's vectors onto its targets; 0 where there are none.

    Parameters
    ----------
    expected : (b, N, d)
        Vectors, 1 / N each, in whatever order in memory.
    targets : (b, m, d)
        Their targets, 1 / n each for an instance with n of them; no gradient flows to them.
    has_target : bool (b, m)
    iterations : Iterations
    """
    is_small = _n_cells(expected.shape[1], targets.shape[1]) <= MAX_CELLS
    if is_small and expected.dtype == torch.float32 and runs_kernel("transport", expected.device):
        distances: Tensor = _KernelDistances.apply(expected, targets, has_target, iterations)
        return distances
    cost = cosine_distances(expected, targets)  # (b, N, m)
    has_step = has_target.new_ones(cost.shape[:2])  # (b, N)
    plans = transport_plans(cost.detach(), has_step, has_target, iterations)  # (b, N, m)
    return (plans * cost).sum(dim=(1, 2))


def cosine_distances(rows: Tensor, columns: Tensor) -> Tensor:
    """One minus the cosine of every pair, (b, N, m), of vectors (b, N, d) and (b, m, d)."""
    dtype = torch.promote_types(rows.dtype, torch.float32)
    unit_rows = functional.normalize(rows.to(dtype), dim=2)  # (b, N, d)
    unit_columns = functional.normalize(columns.to(dtype), dim=2)  # (b, m, d)
    return 1 - unit_rows @ unit_columns.transpose(1, 2)


@torch.no_grad()
def transport_plans(
    cost: Tensor,
    row_mask: Tensor,
    column_mask: Tensor,
    iterations: Iterations = DEFAULT,
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
    iterations : Iterations

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
    real = row_mask.unsqueeze(2) & column_mask.unsqueeze(1)  # (b, N, m)
    kernel = torch.where(real, torch.exp(-cost / iterations.beta), 0.0)  # (b, N, m)
    mu, nu = _uniform(row_mask, cost), _uniform(column_mask, cost)  # (b, N), (b, m)
    tiny = torch.finfo(cost.dtype).tiny  # a sum over nothing is 0: 0 / tiny stays 0
    plan = real.to(cost.dtype)  # (b, N, m)
    columns = nu.clone()  # (b, m)
    for _ in range(iterations.n_outer):
        scaled = kernel * plan  # (b, N, m)
        for _ in range(iterations.n_inner):
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


class _KernelDistances(Function):
    """See `transport_distances`; the gradient of each distance is known with it."""

    @staticmethod
    def forward(
        ctx: Any, expected: Tensor, targets: Tensor, has_target: Tensor, iterations: Iterations
    ) -> Tensor:
        distances, gradient = _launch(expected, targets.float(), has_target, iterations)
        ctx.save_for_backward(gradient)
        return distances

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors  # (b, N, d)
        return grads[0][:, None, None] * gradient, None, None, None


def _n_cells(n_rows: int, n_columns: int) -> int:
    """Cells of a plan in the kernel: sizes are powers of two."""
    padded = (1 << max(0, n - 1).bit_length() for n in (n_rows, n_columns))
    return math.prod(padded)


# -------------------------------------------------------------------- kernel


@jit()
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


@jit()
def _vectors(vectors, first, row, n_rows, row_step, d, LANES: tl.constexpr):
    """Numbers `first` onwards of some vectors: (ROWS, LANES), 0 outside of them."""
    lane = first + tl.arange(0, LANES)
    inside = (row < n_rows)[:, None] & (lane < d)[None, :]
    at = vectors + row.to(tl.int64)[:, None] * row_step + lane[None, :]
    return tl.load(at, mask=inside, other=0.0)


@jit()
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


def _launch(
    expected: Tensor, targets: Tensor, has_target: Tensor, iterations: Iterations
) -> tuple[Tensor, Tensor]:
    """Distances float32 (b,), and their gradient to `expected` (b, N, d), each of its own alone."""
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
            *iterations,
            TINY=torch.finfo(torch.float32).tiny,
            NO_NORM=1e-12,  # torch.nn.functional.normalize's
            ROWS=max(16, triton.next_power_of_2(n_rows)),
            COLUMNS=max(16, triton.next_power_of_2(n_columns)),
            LANES=LANES,
            num_warps=4,
        )
    return distances, gradient
