"""Dropout, residual and norm: the written-out gradient is autograd's, and the kernels compile."""

import pytest
import torch

from multitudes.deep.ops.residual_norm import Dropping, norm_backward, norm_forward
from tests.triton_kernels import compile_for_a_gpu


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_written_out_gradient_is_autograds(share):
    torch.manual_seed(0)
    n, dim = 40, 50
    change, states, upon = (torch.randn(n, dim) for _ in range(3))
    vectors, sums = 1 + torch.randn(3, dim), torch.empty(3, dim)
    dropping = Dropping(torch.tensor([3]), share)
    made = norm_forward(change, states, vectors, epsilon=1e-5, dropping=dropping)
    found = norm_backward(upon, made, vectors, dropping=dropping, sums=sums)
    factors = torch.where(found[0] == 0, 0.0, 1 / (1 - share))  # what stayed
    assert (factors == 0).float().mean() == pytest.approx(share, abs=0.05)
    inputs = [part.clone().requires_grad_() for part in (change, states, vectors)]
    bias, weight, shift = inputs[2]
    total = inputs[1] + (inputs[0] + bias - vectors[0]) * factors  # a bias that is there already
    out = torch.nn.functional.layer_norm(total, (dim,), weight, shift, 1e-5)
    torch.testing.assert_close(made.out, out.detach(), atol=1e-5, rtol=1e-4)
    expected = torch.autograd.grad((out * upon).sum(), inputs)
    for one, other in zip((*found, sums), expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dim", [384, 768])
def test_the_kernels_compile_for_a_gpu(dim):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops import residual_norm

    others = {"seed": "*i64", "moments": "*fp32", "n_rows": "i32", "p": "fp32"}
    width = 1 << (dim - 1).bit_length()
    sizes = {"D": dim, "WIDTH": width, "DROPOUT": True}
    forward = dict.fromkeys(("change", "states", "vectors", "total", "out"), "*bf16")
    rows = max(1, residual_norm.CELLS // width)
    compile_for_a_gpu(
        residual_norm._forward_kernel,
        forward | others | {"epsilon": "fp32"},
        sizes | {"ROWS": rows},
    )
    names = ("grad", "total", "vectors", "to_change", "to_states")
    backward = dict.fromkeys(names, "*bf16") | others | {"sums": "*fp32"}
    compile_for_a_gpu(residual_norm._backward_kernel, backward, sizes)
