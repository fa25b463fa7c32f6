"""The Triton kernel against tensor operations, in Triton's interpreter."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

from tests.triton_kernels import compile_for_a_gpu, run_interpreted

CHECK = """
import torch
from multitudes.deep.ops.transport import fits, plans_on_device
from multitudes.seq2set.losses.ipot import transport_plans

torch.manual_seed(0)
for n, n_rows, n_columns in [(4, 7, 3), (2, 1, 1), (2, 9, 12), (0, 3, 2), (2, 3, 0)]:
    cost = 2 * torch.rand(n, n_rows, n_columns)
    rows = torch.arange(n_rows) < torch.randint(0, n_rows + 1, (n, 1))
    columns = torch.arange(n_columns) < torch.randint(0, n_columns + 1, (n, 1))
    for settings in [
        {"beta": 1.0, "n_outer": 20, "n_inner": 1}, {"beta": 0.3, "n_outer": 4, "n_inner": 3}
    ]:
        found = plans_on_device(cost, rows, columns, **settings)
        expected = transport_plans(cost, rows, columns, **settings)
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-4)
assert fits(57, 57) and not fits(200, 200)
"""

DISTANCES = """
import torch
from multitudes.deep.ops.transport import distances_on_device
from multitudes.seq2set.losses.loss_config import SetLossConfig
from multitudes.seq2set.losses.transport import transport_distances

torch.manual_seed(0)
config = SetLossConfig(transport_steps=20, transport_inner_steps=2, transport_beta=0.5)
for n, n_rows, n_columns, d in [(4, 7, 3, 5), (2, 1, 1, 40), (3, 19, 17, 70), (0, 3, 2, 4)]:
    by_step = torch.randn(n_rows, n, d)
    wide = torch.randn(n, n_rows, d + 1)
    targets = torch.randn(n, n_columns, d)
    there = torch.arange(n_columns) < torch.randint(0, n_columns + 1, (n, 1))
    for given in (by_step.transpose(0, 1), by_step.transpose(0, 1).contiguous(), wide[:, :, 1:]):
        given = given.clone() if given.is_contiguous() else given
        given[:1, 0] = 0  # a vector without a direction
        expected = given.detach().requires_grad_()
        distances = transport_distances(expected, targets, there, config)
        (to_expected,) = torch.autograd.grad(distances.sum(), expected)
        found, gradient = distances_on_device(
            given, targets, there, beta=0.5, n_outer=20, n_inner=2
        )
        torch.testing.assert_close(found, distances.detach(), atol=1e-6, rtol=1e-4)
        real = given.norm(dim=2) > 0
        torch.testing.assert_close(gradient[real], to_expected[real], atol=1e-5, rtol=1e-3)
        assert gradient.shape == given.shape
"""


def test_the_kernel_agrees_with_tensor_operations():
    run_interpreted(CHECK)


def test_distances_and_their_gradients_are_those_of_tensor_operations():
    run_interpreted(DISTANCES)


def test_the_kernels_compile_for_a_gpu():
    from multitudes.deep.ops.transport import _distance_kernel, _plan_kernel

    types = {"cost": "*fp32", "row_mask": "*i1", "column_mask": "*i1", "plans": "*fp32"}
    sizes = {
        "n_rows": "i32",
        "n_columns": "i32",
        "beta": "fp32",
        "n_outer": "i32",
        "n_inner": "i32",
    }
    blocks = {"TINY": 1e-38, "ROWS": 32, "COLUMNS": 16}
    compile_for_a_gpu(_plan_kernel, {**types, **sizes}, blocks)
    tensors = ("expected", "targets", "column_mask", "distances", "to_expected")
    types = {name: "*i1" if name == "column_mask" else "*fp32" for name in tensors}
    strides = dict.fromkeys(("expected_instance", "expected_row"), "i32")
    sizes = {**dict.fromkeys(("n_rows", "n_columns", "d"), "i32"), **sizes}
    blocks = {**blocks, "NO_NORM": 1e-12, "LANES": 32}
    compile_for_a_gpu(_distance_kernel, {**types, **strides, **sizes}, blocks)
