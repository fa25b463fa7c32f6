"""GELU's gradient is autograd's, summed up for the bias, and the kernels compile."""

import pytest
import torch

from multitudes.deep.ops.gelu import gelu_backward, gelu_forward
from tests.triton_kernels import compile_for_a_gpu


def test_the_gradient_is_autograds():
    torch.manual_seed(0)
    before, upon = 3 * torch.randn(20, 7), torch.randn(20, 7)
    inputs = before.clone().requires_grad_()
    out = torch.nn.functional.gelu(inputs)
    (expected,) = torch.autograd.grad((out * upon).sum(), inputs)
    grad, sums = upon.clone(), torch.empty(7)
    gelu_backward(grad, before, sums=sums)
    torch.testing.assert_close(gelu_forward(before), out.detach())
    torch.testing.assert_close(grad, expected)
    torch.testing.assert_close(sums, expected.sum(0))


def test_the_kernels_compile_for_a_gpu():
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops import gelu

    both = {"before": "*bf16", "out": "*bf16", "n_cells": "i32"}
    compile_for_a_gpu(gelu._forward_kernel, both, {"CELLS": gelu.CELLS})
    given = {"before": "*bf16", "grad": "*bf16", "sums": "*fp32", "n_rows": "i32"}
    sizes = {"C": 1536, "ROWS": gelu.ROWS, "COLUMNS": gelu.COLUMNS}
    compile_for_a_gpu(gelu._backward_kernel, given, sizes)
