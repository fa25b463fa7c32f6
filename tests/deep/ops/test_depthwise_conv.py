"""Depthwise convolutions against an explicit sum, and the kernels against torch's."""

import pytest
import torch

from multitudes.deep.ops.depthwise_conv import depthwise_conv
from tests.triton_kernels import compile_for_a_gpu


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


@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_the_kernels_compile_for_a_gpu(kind):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops import depthwise_conv as kernels

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
