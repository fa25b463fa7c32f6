"""Both directions: what is where, gradients against autograd's, kernels against operations."""

import pytest
import torch

from multitudes.seq2set.network.both_ways import both_ways, one_way
from tests.triton_kernels import compile_for_a_gpu, run_interpreted

LENGTHS = torch.tensor([4, 1, 3])


def places(lengths=LENGTHS, n_words=5):
    times = torch.arange(n_words)[:, None]
    active = times < lengths
    return torch.where(active, lengths - 1 - times, times), active


def test_texts_are_mirrored_and_padding_stays():
    mirror, active = places()
    x = torch.arange(15.0).view(5, 3, 1)
    both = both_ways(x, mirror)
    assert torch.equal(both[0], x)
    assert both[1, :, 0, 0].tolist() == [9, 6, 3, 0, 12]
    assert both[1, :, 1, 0].tolist() == [1, 4, 7, 10, 13]
    joined = one_way(both, mirror, active)  # (5, 3, 2)
    assert torch.equal(joined[:, :, 0], joined[:, :, 1])
    assert torch.equal(joined[:, :, :1], torch.where(active[:, :, None], x, 0.0))


def test_gradients_by_finite_differences():
    mirror, active = places()
    x = torch.randn(5, 3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(both_ways, (x, mirror))
    states = torch.randn(2, 5, 3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(one_way, (states, mirror, active))


KERNELS = """
import torch
from multitudes.deep.ops import both_ways as kernels
from multitudes.seq2set.network.both_ways import both_ways, one_way

torch.manual_seed(0)
kernels.AT_ONCE = 32
for n_words, n, d, kind in [(5, 3, 4, torch.float32), (1, 2, 70, torch.float16), (4, 0, 3, None)]:
    kind = kind or torch.float32
    lengths = torch.randint(1, n_words + 1, (n,))
    times = torch.arange(n_words)[:, None]
    active = times < lengths
    mirror = torch.where(active, lengths - 1 - times, times)
    x = torch.randn(n, n_words, d).to(kind).transpose(0, 1).requires_grad_()
    expected = both_ways(x, mirror)
    torch.testing.assert_close(kernels.split_on_device(x.detach(), mirror), expected.detach())
    given = torch.randn_like(expected)
    (grad,) = torch.autograd.grad(expected, x, given)
    torch.testing.assert_close(kernels.sum_on_device(given, mirror), grad)
    states = torch.randn(2, n_words + 1, n, d).to(kind)[:, 1:].requires_grad_()
    expected = one_way(states, mirror, active)
    found = kernels.join_on_device(states.detach(), mirror, active)
    torch.testing.assert_close(found, expected.detach())
    assert found.transpose(0, 1).is_contiguous() and expected.transpose(0, 1).is_contiguous()
    for given in (torch.randn_like(expected), torch.randn(expected.shape).to(kind)):
        (grad,) = torch.autograd.grad(expected, states, given, retain_graph=True)
        torch.testing.assert_close(kernels.part_on_device(given, mirror, active), grad)
"""


def test_the_kernels_agree_with_tensor_operations():
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    run_interpreted(KERNELS)


@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_the_kernels_compile_for_a_gpu(kind):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops import both_ways as kernels

    known = {"mirror": "*i64", "active": "*i1"}
    pointers = {"x", "out", "given", "states"}
    for kernel in (
        kernels._split_kernel, kernels._sum_kernel, kernels._join_kernel, kernels._part_kernel,
    ):  # fmt: skip
        names = [name for name in kernel.arg_names if not name.isupper()]
        types = {n: known.get(n, f"*{kind}" if n in pointers else "i32") for n in names}
        compile_for_a_gpu(kernel, types, {"AT_ONCE": 1024})
