"""Filling and dropout of the attention kernels, in Triton's interpreter: no GPU is needed."""

import pytest

pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

from tests.triton_kernels import compile_for_a_gpu, run_interpreted

CHECK = """
import torch
from multitudes.deep.ops.short_attention import short_attention
from multitudes.deep.texts.tokens import TILES

torch.manual_seed(0)
lengths = torch.tensor({lengths})
n_texts, filling = len(lengths), 5
offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).to(torch.int32)
texts = torch.arange(n_texts + 1).repeat_interleave(torch.cat([lengths, torch.tensor([filling])]))
qkv = torch.randn(len(texts), 3, 2, 16)
tiles = torch.bucketize(lengths, torch.tensor(TILES))
by_length = tiles.argsort(stable=True).to(torch.int32)
counts = tiles.bincount(minlength=len(TILES)).tolist()
weight = torch.randn(len(texts), 2, 16)
real = texts < n_texts
ours = qkv.clone().requires_grad_()
found = short_attention(ours, offsets, by_length, torch.tensor([3]), None, counts, 0.0, 0)
assert (found[~real] == 0).all()
(found * weight)[real].sum().backward()
assert (ours.grad[~real] == 0).all()
# Dropout: the gradient is that of the same draw, seen by finite differences along one direction.
direction, step = torch.randn_like(qkv) * real[:, None, None, None], 1e-2
def loss(x):
    out = short_attention(x, offsets, by_length, torch.tensor([7]), None, counts, 0.3, 0)
    return (out * weight)[real].sum()
x = qkv.clone().requires_grad_()
loss(x).backward()
slope = (loss(qkv + step * direction) - loss(qkv - step * direction)) / (2 * step)
torch.testing.assert_close((x.grad * direction).sum(), slope, atol=2e-2, rtol=2e-2)
dropped = short_attention(qkv, offsets, by_length, torch.tensor([7]), None, counts, 0.3, 0)
assert not torch.allclose(dropped[real], found[real])
"""


# Equal scores and values that are the unit vectors: the output is the weights themselves.
DROPOUT = """
import torch
from multitudes.deep.ops.short_attention import short_attention

n_texts, length, heads, p = 12, 16, 4, 0.3
qkv = torch.zeros(n_texts * length, 3, heads, length)
qkv[:, 2] = torch.eye(length).repeat(n_texts, 1)[:, None]
offsets = torch.arange(0, n_texts * length + 1, length, dtype=torch.int32)
texts = torch.arange(n_texts, dtype=torch.int32)

def kept(seed):
    counts = [n_texts, 0, 0, 0]
    weights = short_attention(qkv, offsets, texts, torch.tensor([seed]), None, counts, p, 0)
    scaled = weights * length * (1 - p)
    assert torch.allclose(scaled, (scaled > 0.5).float(), atol=1e-5)
    return (scaled > 0.5).float().view(n_texts, length, heads, length)

first, second = kept(5), kept(6)
cells = first.numel()
assert torch.equal(first, kept(5))

def near(share, expected):  # five standard deviations of a share of independent draws
    assert abs(share - expected) < 5 * (expected * (1 - expected) / cells) ** 0.5, share

both = (1 - p) ** 2
near(first.mean(), 1 - p)
near((first * second).mean(), both)  # other seeds,
near((first * first.roll(1, 0)).mean(), both)  # texts,
near((first * first.roll(1, 1)).mean(), both)  # rows,
near((first * first.roll(1, 2)).mean(), both)  # heads
near((first * first.roll(1, 3)).mean(), both)  # and columns draw anew
"""


@pytest.mark.parametrize("lengths", [[3, 1, 9], [16], [20, 2], [1, 33, 5, 17]])
def test_filling_is_zero_and_the_gradient_is_that_of_what_was_dropped(lengths):
    run_interpreted(CHECK.format(lengths=lengths))


def test_dropped_weights_are_a_share_and_unrelated():
    run_interpreted(DROPOUT)


@pytest.mark.parametrize("block", [16, 32, 64, 128])
def test_the_kernels_compile_for_a_gpu(block):
    from multitudes.deep.ops.short_attention import (
        VARYING,
        WARPS,
        _backward_kernel,
        _forward_kernel,
    )

    constants = {"H": 12, "D": 32, "BLOCK": block, "DROPOUT": True, "BIAS": True, "WINDOW": 9}
    others = {"offsets": "*i32", "by_length": "*i32", "seed": "*i64", "bias": "*fp32"}
    others |= dict.fromkeys(VARYING, "i32") | {"scale": "fp32", "p": "fp32"}
    for kernel, names in (
        (_forward_kernel, ("qkv", "out")),
        (_backward_kernel, ("qkv", "grad_out", "grad_qkv")),
    ):
        types = dict.fromkeys(names, "*bf16") | others
        types |= {"grad_bias": "*fp32"} if "grad_qkv" in names else {}
        compile_for_a_gpu(kernel, types, constants, n_warps=WARPS[block])
