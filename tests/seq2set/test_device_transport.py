"""The Triton kernel against tensor operations, in Triton's interpreter."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

from tests.triton_kernels import compile_for_a_gpu, run_interpreted

CHECK = """
import torch
from multitudes.seq2set.device_transport import fits, plans_on_device
from multitudes.seq2set.ipot import transport_plans

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
assert fits(torch.empty(1, 57, 57)) and not fits(torch.empty(1, 200, 200))
"""


def test_the_kernel_agrees_with_tensor_operations():
    run_interpreted(CHECK)


def test_the_kernel_compiles_for_a_gpu():
    from multitudes.seq2set.device_transport import _plan_kernel

    types = {"cost": "*fp32", "row_mask": "*i1", "column_mask": "*i1", "plans": "*fp32"}
    sizes = {
        "n_rows": "i32",
        "n_columns": "i32",
        "beta": "fp32",
        "n_outer": "i32",
        "n_inner": "i32",
    }
    compile_for_a_gpu(_plan_kernel, {**types, **sizes}, {"TINY": 1e-38, "ROWS": 32, "COLUMNS": 16})
