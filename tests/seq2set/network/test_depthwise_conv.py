"""Depthwise convolutions against an explicit sum, and the kernels against torch's."""

import pytest
import torch

from multitudes.seq2set.network.depthwise_conv import depthwise_conv
from tests.triton_kernels import compile_for_a_gpu, run_interpreted


@pytest.mark.parametrize(("length", "width", "stride"), [(9, 3, 1), (12, 5, 3), (4, 4, 2)])
def test_it_is_the_explicit_sum(length, width, stride):
    torch.manual_seed(0)
    x, kernel = torch.randn(2, length, 3), torch.randn(3, width)
    found = depthwise_conv(x, kernel, stride)
    for output in range((length - width) // stride + 1):
        seen = x[:, output * stride : output * stride + width]  # (2, width, 3)
        torch.testing.assert_close(found[:, output], (seen * kernel.T).sum(dim=1))
    assert found.shape[1] == (length - width) // stride + 1


def test_what_is_behind_the_last_position_is_0():
    torch.manual_seed(0)
    x, kernel = torch.randn(2, 4, 3), torch.randn(3, 5)
    filled = torch.nn.functional.pad(x, (0, 0, 0, 5))
    found = depthwise_conv(x, kernel, 2, length=9, relu=True)
    torch.testing.assert_close(found, depthwise_conv(filled, kernel, 2).clamp(min=0))
    assert (found == 0).any()


KERNELS = """
import torch
from multitudes.seq2set.network.depthwise_conv import depthwise_conv
from multitudes.deep.ops.convolution import convolved_on_device, gradients_on_device

torch.manual_seed(0)
for n, length, c, width, stride, counts_for in [
    (2, 9, 3, 3, 1, 9), (3, 30, 130, 11, 3, 30), (1, 4, 2, 4, 2, 4), (2, 23, 5, 2, 3, 31),
    (2, 20, 5, 9, 4, 21), (2, 5, 3, 9, 1, 12), (2, 50, 3, 50, 3, 50), (3, 62, 3, 44, 3, 62),
    (2, 48, 3, 3, 1, 52), (1, 20, 2, 1, 1, 20),
]:
    relu = counts_for > length
    x = torch.randn(n, length, c, requires_grad=True)
    kernel = torch.randn(c, width, requires_grad=True)
    expected = depthwise_conv(x, kernel, stride, length=counts_for, relu=relu)
    grad = torch.randn(expected.shape)
    expected.backward(grad)
    rows = kernel.detach().T.contiguous()
    found = convolved_on_device(x.detach(), rows, stride, length=counts_for, relu=relu)
    torch.testing.assert_close(found, expected.detach(), atol=1e-5, rtol=1e-4)
    to_x, to_kernel = gradients_on_device(x.detach(), rows, grad, stride, found if relu else None)
    torch.testing.assert_close(to_x, x.grad, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(to_kernel, kernel.grad.T, atol=1e-4, rtol=1e-4)
"""


def test_the_kernels_agree_with_torchs_convolution():
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    run_interpreted(KERNELS)


@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_the_kernels_compile_for_a_gpu(kind):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops import convolution as kernels

    sizes = dict.fromkeys(("l", "k", "c", "width", "stride"), "i32")
    blocks = {"RELU": True, "P": 8, "C": 128}
    pairs = {**blocks, "J": 4}
    x, full = f"*{kind}", "*fp32"
    forward = {"x": x, "kernel": full, "out": x, **sizes}
    compile_for_a_gpu(kernels._forward_kernel, forward, pairs)
    backward = {"grad": x, "out": x, "kernel": full, "to_x": x, **sizes}
    compile_for_a_gpu(kernels._to_x_kernel, backward, blocks)
    last = {"x": x, "grad": x, "out": x, "to_kernel": full, "n": "i32", **sizes}
    compile_for_a_gpu(kernels._to_kernel_kernel, last, pairs)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_gpu_gives_the_same(kind):
    torch.manual_seed(0)
    x, kernel = torch.randn(40, 62, 200).to(kind).float(), torch.randn(200, 50)
    results = []
    for device in ("cpu", "cuda"):
        one = x.to(device, kind if device == "cuda" else None).detach().requires_grad_()
        weight = kernel.to(device).detach().requires_grad_()
        out = depthwise_conv(one, weight, 3)
        out.float().square().sum().backward()
        results.append([part.detach().float().cpu() for part in (out, one.grad, weight.grad)])
    near = 1e-5 if kind == torch.float32 else 1e-2
    for expected, found in zip(*results, strict=True):
        assert (found - expected).norm() / expected.norm() < near
