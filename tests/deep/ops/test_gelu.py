"""The Triton kernel against GELU's own gradient, in Triton's interpreter."""

import pytest

pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

from tests.triton_kernels import compile_for_a_gpu, run_interpreted

CHECK = """
import torch
import torch.nn.functional as F
from multitudes.deep.ops import gelu as device_gelu

device_gelu.COLUMNS, device_gelu.PROGRAMS = 32, 4  # several tiles, and several of them a program
torch.manual_seed(0)
before = (4 * torch.randn({n}, {columns})).requires_grad_()
upon = torch.randn({n}, {columns})
(expected,) = torch.autograd.grad((F.gelu(before) * upon).sum(), before)
found, sums = upon.clone(), torch.empty({columns})
device_gelu.gelu_backward_(found, before.detach(), sums=sums)
torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)
torch.testing.assert_close(sums, expected.sum(0), atol=1e-5, rtol=1e-4)
"""

EVERYWHERE = """
import torch
import torch.nn.functional as F
from multitudes.deep.ops.gelu import gelu_backward_

ends = torch.tensor([0.0, -0.0, 1e-30, -1e-30, 30.0, -30.0, 1e4, -1e4])
before = torch.cat([torch.linspace(-8, 8, 4088), ends]).double().view(8, -1).requires_grad_()
(expected,) = torch.autograd.grad(F.gelu(before).sum(), before)
found = torch.ones(8, 512)
gelu_backward_(found, before.detach().float(), sums=torch.empty(512))
torch.testing.assert_close(found.double(), expected, atol=3e-7, rtol=0)
"""


def test_the_kernel_agrees_with_plain_operations():
    sizes = [(37, 40), (8, 64), (1, 33), (0, 8)]
    run_interpreted("".join(CHECK.format(n=n, columns=columns) for n, columns in sizes))


def test_the_slope_is_right_to_float32_everywhere():
    run_interpreted(EVERYWHERE)


def test_the_kernel_compiles_for_a_gpu():
    from multitudes.deep.ops.gelu import COLUMNS, ROWS, _backward_kernel

    types = {"before": "*bf16", "grad": "*bf16", "sums": "*fp32", "n_rows": "i32"}
    compile_for_a_gpu(_backward_kernel, types, {"C": 1536, "ROWS": ROWS, "COLUMNS": COLUMNS})
