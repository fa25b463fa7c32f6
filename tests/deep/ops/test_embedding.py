"""The Triton kernels against plain embeddings, in Triton's interpreter."""

import pytest

pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

from tests.triton_kernels import compile_for_a_gpu, run_interpreted

CHECK = """
import torch
from multitudes.deep.ops import embedding as module
from multitudes.deep.ops.random import Draw
from multitudes.encoder.packed.packed_bert import Shape, plain_embedding
from multitudes.deep.texts.tokens import pack
from tests.encoder.packed.test_packed_bert import small_bert, texts_of

module.PROGRAMS = 3
own = small_bert(hidden_size={dim}).embeddings
for parameter in own.parameters():
    torch.nn.init.normal_(parameter)
packed = pack(texts_of({lengths}), round_up_to=8)  # filling has id 0, whose gradient is none
upon = torch.randn(len(packed.ids), {dim})

def both(embed):
    own.zero_grad()
    states = embed()
    (states * upon).sum().backward()
    return [states.detach(), *(p.grad.clone() for p in own.parameters())]

def ours(p, random_state=3):
    draw = Draw(torch.tensor([0, seed]), 1, p)
    return module.device_embedding(own, packed, kind=torch.float32, epsilon=1e-5, draw=draw)

def plain(mask=1.0):
    return mask * plain_embedding(own, packed, Shape(2, 1e-5, 0.0, 0.0, 9, True))

def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)

assert_same(both(lambda: ours(0.0)), both(plain))
p = 0.3
mask = (ours(p).detach() != 0).float()
assert 0.1 < 1 - mask.mean() < 0.5
assert_same(both(lambda: ours(p)), both(lambda: plain(mask / (1 - p))))
assert not torch.equal(ours(p), ours(p, random_state=4))
"""


def test_the_kernels_agree_with_plain_embeddings():
    cases = [([5, 2, 9, 1], 32), ([8], 48), ([20, 3], 64)]
    run_interpreted("".join(CHECK.format(lengths=lengths, dim=dim) for lengths, dim in cases))


@pytest.mark.parametrize("dim", [384, 1024])
def test_the_kernels_compile_for_a_gpu(dim):
    from multitudes.deep.ops.embedding import _backward_kernel, _forward_kernel
    from multitudes.deep.ops.norm import row_tile

    tables = dict.fromkeys(("words", "places", "types", "weight", "bias"), "*fp32")
    numbers = {"n_tokens": "i32", "place": "i32", "p": "fp32", "moments": "*fp32"}
    shared = {"ids": "*i64", "positions": "*i64", "seeds": "*i64"} | numbers
    constants = {**row_tile(dim), "DROPOUT": True}
    n_warps = constants.pop("num_warps")
    forward = tables | shared | {"out": "*bf16", "epsilon": "fp32"}
    compile_for_a_gpu(_forward_kernel, forward, constants, n_warps=n_warps)
    del tables["bias"]
    backward = tables | shared | {"grad": "*bf16", "to_sum": "*fp32", "sums": "*fp32"}
    compile_for_a_gpu(_backward_kernel, backward, constants, n_warps=n_warps)
