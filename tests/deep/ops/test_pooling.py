"""The Triton kernels against plain pooling, in Triton's interpreter."""

import pytest

pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

import torch

from multitudes.deep.texts.tokens import pack
from multitudes.encoder.backbone.pooling import pooled
from tests.encoder.packed.test_packed_bert import texts_of
from tests.triton_kernels import compile_for_a_gpu, run_interpreted

CHECK = """
import torch
import torch.nn.functional as F
from multitudes.deep.ops import pooling as device_pooling
from multitudes.encoder.backbone.pooling import plain_means
from multitudes.deep.texts.tokens import pack
from tests.encoder.packed.test_packed_bert import texts_of

device_pooling.CELLS = 128  # several tiles a text
torch.manual_seed(0)
packed = pack(texts_of({lengths}), round_up_to=8)
states = torch.randn(len(packed.ids), {dim})
states[: int(packed.offsets[1])] *= {first}
upon = torch.randn(len(packed), {dim})

def both(pool):
    inputs = states.clone().requires_grad_()
    out = pool(inputs)
    return out.detach(), *torch.autograd.grad((out * upon).sum(), inputs)

found = both(lambda given: device_pooling.unit_means(given, packed.offsets))
expected = both(lambda given: F.normalize(plain_means(given, packed), dim=1))
torch.testing.assert_close(found[0], expected[0], atol=1e-6, rtol=1e-5)
torch.testing.assert_close(found[1], expected[1], atol=1e-5, rtol=1e-5)
assert (found[1][int(packed.offsets[-1]) :] == 0).all()
"""


# The last with a mean of length zero.
CASES = [([5, 2, 9, 1], 40, 1.0), ([8], 64, 1.0), ([20, 3], 33, 1.0), ([3, 4], 16, 0.0)]


def test_the_kernels_agree_with_plain_pooling():
    checks = [CHECK.format(lengths=a, dim=b, first=c) for a, b, c in CASES]
    run_interpreted("".join(checks))


@pytest.mark.gpu
def test_a_gpu_pools_the_same():
    packed = pack(texts_of([5, 40, 1, 17]), round_up_to=8)
    states = torch.randn(len(packed.ids), 48)
    expected = pooled(states, packed, "mean")
    found = pooled(states.cuda(), pack(texts_of([5, 40, 1, 17]), device="cuda"), "mean")
    torch.testing.assert_close(found.cpu(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dim", [384, 768])
def test_the_kernels_compile_for_a_gpu(dim):
    from multitudes.deep.ops.pooling import _backward_kernel, _forward_kernel, tile

    floats = {"units": "*fp32", "lengths": "*fp32", "offsets": "*i32", "shortest": "fp32"}
    compile_for_a_gpu(_forward_kernel, {"states": "*bf16"} | floats, tile(dim))
    counts = {"n_texts": "i32", "n_tokens": "i32"}
    others = {"grad": "*fp32", "to_states": "*bf16"}
    compile_for_a_gpu(_backward_kernel, others | counts | floats, tile(dim))
