"""The Triton kernels against plain attention, in Triton's interpreter: no GPU is needed."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

CHECK = """
import torch
from multitudes.encoder.packed_bert import Shape, padded_attention
from multitudes.encoder.short_attention import short_attention

torch.manual_seed(0)
lengths = torch.tensor({lengths})
n_texts, filling = len(lengths), 5
offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).to(torch.int32)
texts = torch.arange(n_texts + 1).repeat_interleave(torch.cat([lengths, torch.tensor([filling])]))
places = [torch.arange(int(n)) for n in lengths] + [torch.zeros(filling, dtype=torch.int64)]
positions = torch.cat(places)
qkv = torch.randn(len(texts), 3, 2, 16)
ours, plain = qkv.clone().requires_grad_(), qkv.clone().requires_grad_()
longest = int(lengths.max())
weight = torch.randn(len(texts), 2, 16)
real = texts < n_texts
found = short_attention(ours, offsets, torch.tensor([3]), longest, 0.0)
shape = Shape(2, 1e-12, 0.0, 0.0, longest, False)
expected = padded_attention(plain, n_texts, texts, positions, shape)
torch.testing.assert_close(found[real], expected[real], atol=1e-5, rtol=1e-4)
assert (found[~real] == 0).all()
(found * weight)[real].sum().backward()
(expected * weight)[real].sum().backward()
torch.testing.assert_close(ours.grad[real], plain.grad[real], atol=1e-5, rtol=1e-4)
assert (ours.grad[~real] == 0).all()
# Dropout: the gradient is that of the same draw, seen by finite differences along one direction.
direction, step = torch.randn_like(qkv) * real[:, None, None, None], 1e-2
def loss(x):
    return (short_attention(x, offsets, torch.tensor([7]), longest, 0.3) * weight)[real].sum()
x = qkv.clone().requires_grad_()
loss(x).backward()
slope = (loss(qkv + step * direction) - loss(qkv - step * direction)) / (2 * step)
torch.testing.assert_close((x.grad * direction).sum(), slope, atol=2e-2, rtol=2e-2)
dropped = short_attention(qkv, offsets, torch.tensor([7]), longest, 0.3)
assert not torch.allclose(dropped[real], found[real])
"""


@pytest.mark.parametrize("lengths", [[3, 1, 9], [16], [20, 2]])
def test_kernels_agree_with_plain_attention(lengths):
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CHECK.format(lengths=lengths)],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
