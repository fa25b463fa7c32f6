"""The Triton kernels against dropout, sum and layer_norm, in Triton's interpreter."""

import pytest

pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

from tests.triton_kernels import compile_for_a_gpu, run_interpreted

CHECK = """
import torch
import torch.nn.functional as F
from multitudes.deep.ops import norm as device_norm
from multitudes.deep.ops.random import Draw

device_norm.CELLS, device_norm.PROGRAMS = 256, 2  # several tiles, and several of them a program
torch.manual_seed(0)
n, dim, epsilon = {n}, {dim}, 1e-5
change, states = torch.randn(n, dim), torch.randn(n, dim)
vectors, upon = 1 + torch.randn(3, dim), torch.randn(n, dim)

def norm(change, states, vectors, p, random_state=3):
    draw = Draw(torch.tensor([0, seed]), 1, p)
    made = device_norm.norm_forward(change, states, vectors, epsilon=epsilon, draw=draw)
    sums = torch.empty(3, dim)
    return made.out, *device_norm.norm_backward(upon, made, vectors, draw=draw, sums=sums), sums

def plain(change, states, vectors, mask=1.0):
    inputs = [part.clone().requires_grad_() for part in (change, states, vectors)]
    change, states, (before, weight, bias) = inputs
    change = (change + (before - before.detach())) * mask  # a bias of no effect: its gradient
    out = F.layer_norm(states + change, (dim,), weight, bias, epsilon)
    return out, *torch.autograd.grad((out * upon).sum(), inputs)

def assert_same(found, expected):
    torch.testing.assert_close(found[0], expected[0], atol=1e-5, rtol=1e-4)
    for one, other in zip(found[1:], expected[1:], strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)

assert_same(norm(change, states, vectors, 0.0), plain(change, states, vectors))

# What is dropped: seen where the change is large and the rest is nothing.
p = 0.3
zeros, level = torch.zeros(n, dim), torch.tensor([[0.0], [1.0], [0.0]]).expand(3, dim)
stays, *_ = norm(torch.arange(dim) + torch.ones(n, dim), zeros, level.contiguous(), p)
mask = (stays > stays.min(dim=1, keepdim=True).values + 1e-6).float()
assert 0 < 1 - mask.mean() < 0.6
dropped = norm(change, states, vectors, p)
assert_same(dropped, plain(change, states, vectors, mask / (1 - p)))
assert not torch.equal(norm(change, states, vectors, p, random_state=4)[0], dropped[0])
"""

NOTHING = """
import torch
from multitudes.deep.ops.norm import norm_backward, norm_forward
from multitudes.deep.ops.random import Draw

none, vectors, sums = torch.zeros(0, 6), torch.ones(3, 6), torch.ones(3, 6)
draw = Draw(torch.tensor([1]), 0, 0.1)
made = norm_forward(none, none, vectors, epsilon=1e-5, draw=draw)
assert made.out.shape == (0, 6)
norm_backward(none, made, vectors, draw=draw, sums=sums)
assert (sums == 0).all()
"""


@pytest.mark.parametrize(("n", "dim"), [(37, 40), (8, 64), (1, 33)])
def test_the_kernels_agree_with_plain_operations(n, dim):
    run_interpreted(CHECK.format(n=n, dim=dim))


def test_no_token_at_all():
    run_interpreted(NOTHING)


@pytest.mark.parametrize("dim", [384, 768, 1024])
def test_the_kernels_compile_for_a_gpu(dim):
    from multitudes.deep.ops import norm as device_norm

    others = {"seeds": "*i64", "moments": "*fp32", "n_rows": "i32", "place": "i32", "p": "fp32"}
    forward = dict.fromkeys(("change", "states", "vectors", "total", "out"), "*bf16")
    constants = {**device_norm.forward_tile(dim), "DROPOUT": True}
    compile_for_a_gpu(
        device_norm._forward_kernel, forward | others | {"epsilon": "fp32"}, constants
    )
    backward = dict.fromkeys(("grad", "total", "vectors", "to_change", "to_states"), "*bf16")
    constants = {**device_norm.row_tile(dim), "DROPOUT": True}
    n_warps = constants.pop("num_warps")
    compile_for_a_gpu(
        device_norm._backward_kernel,
        backward | others | {"sums": "*fp32"},
        constants,
        n_warps=n_warps,
    )
