"""The Triton kernels against dropout, sum and layer_norm, in Triton's interpreter."""

import pytest

pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

from tests.triton_kernels import compile_for_a_gpu, run_interpreted

CHECK = """
import torch
import torch.nn.functional as F
from multitudes.encoder import device_norm

device_norm.CELLS, device_norm.PROGRAMS = 256, 2  # several tiles, and several of them a program
torch.manual_seed(0)
n, dim, epsilon = {n}, {dim}, 1e-5
change, states = torch.randn(n, dim), torch.randn(n, dim)
weight, bias, upon = 1 + torch.randn(dim), torch.randn(dim), torch.randn(n, dim)

def norm(change, states, weight, bias, p, seed=3):
    seeds = torch.tensor([seed])
    return device_norm.dropped_sum_norm(
        change, states, weight, bias, seeds, epsilon=epsilon, p=p
    )

def gradients(run):
    inputs = [part.clone().requires_grad_() for part in (change, states, weight, bias)]
    out = run(*inputs)
    return out, torch.autograd.grad((out * upon).sum(), inputs)

def plain(change, states, weight, bias):
    return F.layer_norm(states + change, (dim,), weight, bias, epsilon)

found, expected = gradients(lambda *given: norm(*given, 0.0)), gradients(plain)
torch.testing.assert_close(found[0], expected[0], atol=1e-5, rtol=1e-4)
for one, other in zip(found[1], expected[1], strict=True):
    torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)

# What is dropped: seen where the change is large and the rest is nothing.
p = 0.3
zeros, ones = torch.zeros(n, dim), torch.ones(dim)
stays = norm(torch.arange(dim) + torch.ones(n, dim), zeros, ones, 0 * ones, p)
lowest = stays.min(dim=1, keepdim=True).values
mask = (stays > lowest + 1e-6).float()
assert 0 < 1 - mask.mean() < 0.6
def dropped(change, states, weight, bias):
    return plain(change * mask / (1 - p), states, weight, bias)

found, expected = gradients(lambda *given: norm(*given, p)), gradients(dropped)
torch.testing.assert_close(found[0], expected[0], atol=1e-5, rtol=1e-4)
for one, other in zip(found[1], expected[1], strict=True):
    torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
assert not torch.equal(norm(change, states, weight, bias, p, seed=4), found[0])
"""

NOTHING = """
import torch
from multitudes.encoder.device_norm import dropped_sum_norm

none = torch.zeros(0, 6, requires_grad=True)
weight = torch.ones(6, requires_grad=True)
out = dropped_sum_norm(none, none, weight, weight, torch.tensor([1]), epsilon=1e-5, p=0.1)
assert out.shape == (0, 6)
out.sum().backward()
assert weight.grad.tolist() == [0] * 6
"""


@pytest.mark.parametrize(("n", "dim"), [(37, 40), (8, 64), (1, 33)])
def test_the_kernels_agree_with_plain_operations(n, dim):
    run_interpreted(CHECK.format(n=n, dim=dim))


def test_no_token_at_all():
    run_interpreted(NOTHING)


@pytest.mark.parametrize("dim", [384, 768, 1024])
def test_the_kernels_compile_for_a_gpu(dim):
    from multitudes.encoder import device_norm

    constants = {**device_norm._tile(dim), "DROPOUT": True}
    forward = dict.fromkeys(("change", "states", "weight", "bias"), "*bf16")
    forward |= {"seeds": "*i64", "total": "*bf16", "out": "*bf16", "means": "*fp32"}
    forward |= {"scales": "*fp32", "n_rows": "i32", "epsilon": "fp32", "p": "fp32"}
    compile_for_a_gpu(device_norm._forward_kernel, forward, constants)
    backward = dict.fromkeys(("grad", "total", "weight"), "*bf16")
    backward |= {"means": "*fp32", "scales": "*fp32", "seeds": "*i64", "to_change": "*bf16"}
    backward |= {"to_states": "*bf16", "to_weight": "*fp32", "to_bias": "*fp32"}
    backward |= {"n_rows": "i32", "p": "fp32"}
    compile_for_a_gpu(device_norm._backward_kernel, backward, constants)
