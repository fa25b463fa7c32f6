"""IPOT against the exact solution of the POT library, and against a plain loop."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("ot")

import ot
import torch

from multitudes.deep.ops.transport import Iterations, transport_plans
from tests.triton_kernels import compile_for_a_gpu


def random_batch(n=300, n_rows=7, n_columns=5, random_state=0, dtype=torch.float64):
    rng = np.random.default_rng(random_state)
    cost = torch.from_numpy(rng.random((n, n_rows, n_columns))).to(dtype) * 2
    rows = torch.from_numpy(np.arange(n_rows) < rng.integers(1, n_rows + 1, (n, 1)))
    columns = torch.from_numpy(np.arange(n_columns) < rng.integers(1, n_columns + 1, (n, 1)))
    return cost, rows, columns


def exact_plan(cost, rows, columns):
    inside = cost[rows][:, columns].double().numpy()
    plan = np.zeros(cost.shape)
    plan[np.ix_(rows, columns)] = ot.emd([], [], inside)  # [] is uniform
    return plan


def test_plans_tend_to_the_exact_ones():
    cost, rows, columns = random_batch()
    plans = transport_plans(cost, rows, columns, Iterations(n_outer=3000)).numpy()
    exact = np.stack([exact_plan(*one) for one in zip(cost, rows, columns, strict=True)])
    ours, best = (plans * cost.numpy()).sum((1, 2)), (exact * cost.numpy()).sum((1, 2))
    np.testing.assert_allclose(ours, best, atol=1e-3)
    # The gradient of the distance to the cost is the plan: with random costs it is unique.
    assert np.mean(np.abs(plans - exact).max((1, 2)) < 1e-3) > 0.95


def test_single_precision_gets_within_a_thousandth_too():
    cost, rows, columns = random_batch(100, dtype=torch.float32)
    plans = transport_plans(cost, rows, columns, Iterations(n_outer=3000))
    exact = [exact_plan(*one) for one in zip(cost, rows, columns, strict=True)]
    best = (np.stack(exact) * cost.numpy()).sum((1, 2))
    np.testing.assert_allclose((plans * cost).sum((1, 2)).numpy(), best, atol=1e-3)


def slow_ipot(cost, n_outer, n_inner):
    """Algorithm 1 of Xie et al. for one instance, with beta = 1."""
    n_rows, n_columns = cost.shape
    kernel, plan = np.exp(-cost), np.ones_like(cost)
    b = np.full(n_columns, 1 / n_columns)
    for _ in range(n_outer):
        scaled = kernel * plan
        for _ in range(n_inner):
            a = 1 / (n_rows * (scaled @ b))
            b = 1 / (n_columns * (scaled.T @ a))
        plan = a[:, None] * scaled * b
    return plan


@pytest.mark.parametrize(("n_outer", "n_inner"), [(1, 1), (50, 1), (7, 3)])
def test_a_batch_is_one_iteration_per_instance(n_outer, n_inner):
    cost, rows, columns = random_batch(40)
    cost[~(rows.unsqueeze(2) & columns.unsqueeze(1))] = 1e3  # what is masked has no say
    plans = transport_plans(cost, rows, columns, Iterations(1.0, n_outer, n_inner))
    for plan, matrix, r, c in zip(plans, cost, rows, columns, strict=True):
        expected = slow_ipot(matrix[r][:, c].numpy(), n_outer, n_inner)
        np.testing.assert_allclose(plan[r][:, c].numpy(), expected, rtol=1e-9)
        assert plan.sum() == pytest.approx(1)
        assert plan[~r].sum() == plan[:, ~c].sum() == 0


def test_columns_sum_to_their_shares():
    cost, rows, columns = random_batch(40)
    plans = transport_plans(cost, rows, columns)
    shares = columns / columns.sum(1, keepdim=True)
    torch.testing.assert_close(plans.sum(1), shares.double())


def test_nothing_moves_where_there_is_nothing():
    cost = torch.rand(3, 4, 2)
    rows = torch.tensor([[True] * 4, [False] * 4, [False] * 4])
    columns = torch.tensor([[False, False], [True, True], [False, False]])
    assert torch.equal(transport_plans(cost, rows, columns), torch.zeros(3, 4, 2))
    empty = torch.ones(3, 0, dtype=torch.bool)
    assert transport_plans(cost[:, :, :0], rows, empty).shape == (3, 4, 0)


def test_no_gradient_flows_through_a_plan():
    cost, rows, columns = random_batch(2)
    assert not transport_plans(cost.requires_grad_(), rows, columns).requires_grad


@pytest.mark.gpu
def test_a_device_finds_the_same_plans():
    cost, rows, columns = random_batch(dtype=torch.float32)
    there = transport_plans(cost.cuda(), rows.cuda(), columns.cuda())
    here = transport_plans(cost, rows, columns)
    torch.testing.assert_close(there.cpu(), here, atol=1e-5, rtol=1e-3)


def test_the_kernel_compiles_for_a_gpu():
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops.transport import _distance_kernel

    tensors = ("expected", "targets", "column_mask", "distances", "to_expected")
    types = {name: "*i1" if name == "column_mask" else "*fp32" for name in tensors}
    whole = ("expected_instance", "expected_row", "n_rows", "n_columns", "d")
    types |= dict.fromkeys(whole, "i32") | {"beta": "fp32", "n_outer": "i32", "n_inner": "i32"}
    blocks = {"TINY": 1e-38, "NO_NORM": 1e-12, "ROWS": 32, "COLUMNS": 16, "LANES": 32}
    compile_for_a_gpu(_distance_kernel, types, blocks)
