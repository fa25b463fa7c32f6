"""A composed kernel against its kernels in turn, and the device's against tensor operations."""

import pytest
import torch

from multitudes.seq2set.network.depthwise_conv import depthwise_conv
from multitudes.seq2set.network.kernel_composition import composed
from tests.triton_kernels import compile_for_a_gpu, run_interpreted


@pytest.mark.parametrize("strides", [(1, 1, 1), (2, 3, 1), (1, 2, 2)])
@pytest.mark.parametrize("n_kernels", [1, 2, 3])
def test_it_does_what_its_kernels_do_in_turn(strides, n_kernels):
    torch.manual_seed(0)
    kernels = [torch.randn(3, width).double() for width in (2, 3, 4)[:n_kernels]]
    x = torch.randn(2, 40, 3).double()
    expected = x
    for kernel, stride in zip(kernels, strides, strict=False):
        expected = depthwise_conv(expected, kernel, stride)
    kernel, stride = composed(kernels, strides[:n_kernels])
    found = depthwise_conv(x, kernel, stride)
    torch.testing.assert_close(found[:, : expected.shape[1]], expected)


KERNELS = """
import torch
from multitudes.deep.ops.composition import composed_on_device, gradients_on_device
from multitudes.seq2set.network.kernel_composition import composed

torch.manual_seed(0)
for c, w, v, stride in [(11, 7, 15, 1), (3, 21, 30, 1), (8, 3, 2, 3), (1, 1, 1, 2), (9, 2, 5, 2)]:
    kernel, other = (torch.randn(c, size, requires_grad=True) for size in (w, v))
    expected, _ = composed([kernel, other], [stride, 1])
    grad = torch.randn(expected.shape)
    expected.backward(grad)
    found = composed_on_device(kernel.detach(), other.detach(), stride)
    torch.testing.assert_close(found, expected.detach(), atol=1e-5, rtol=1e-4)
    given = gradients_on_device(kernel.detach(), other.detach(), grad, stride)
    torch.testing.assert_close(given, (kernel.grad, other.grad), atol=1e-5, rtol=1e-4)
"""


def test_the_kernels_agree_with_tensor_operations():
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    run_interpreted(KERNELS)


def test_the_kernels_compile_for_a_gpu():
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops import composition as kernels

    sizes = dict.fromkeys(("c", "w", "v", "width", "stride"), "i32")
    forward = dict.fromkeys(("kernel", "other", "out"), "*fp32")
    compile_for_a_gpu(kernels._compose_kernel, forward | sizes, {"C": 8, "WIDTH": 64}, n_warps=2)
    names = ("kernel", "other", "grad", "to_kernel", "to_other")
    backward = dict.fromkeys(names, "*fp32") | sizes
    blocks = {"C": 8, "W": 32, "V": 32}
    compile_for_a_gpu(kernels._gradients_kernel, backward, blocks, n_warps=2)


@pytest.mark.gpu
def test_a_gpu_gives_the_same():
    torch.manual_seed(0)
    kernels = [torch.randn(200, width) for width in (7, 15, 30)]
    results = []
    for device in ("cpu", "cuda"):
        own = [kernel.to(device).detach().requires_grad_() for kernel in kernels]
        kernel, _ = composed(own, (1, 1, 3))
        kernel.square().sum().backward()
        results.append([part.detach().cpu() for part in (kernel, *(one.grad for one in own))])
    for expected, found in zip(*results, strict=True):
        assert (found - expected).norm() / expected.norm() < 1e-5
