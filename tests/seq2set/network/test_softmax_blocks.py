"""Blocks of a softmax: put together they are the whole, and the kernels agree with operations."""

import pytest
import torch

from multitudes.seq2set.network.softmax_blocks import Products, Running, absorb, spread
from tests.triton_kernels import compile_for_a_gpu, run_interpreted


@pytest.mark.parametrize("has_bias", [False, True])
def test_blocks_together_are_the_whole(has_bias):
    torch.manual_seed(0)
    logits, bias = 5 * torch.randn(4, 10), torch.randn(10) if has_bias else None
    places = torch.tensor([[0, 9], [3, -1], [5, 5], [8, 2]])
    running = Running(torch.full((4,), -1e30), torch.zeros(4), torch.zeros(4, 2))
    whole = logits if bias is None else logits + bias
    for part in (slice(0, 6), slice(6, 10)):
        own = None if bias is None else bias[part]
        unscaled = torch.empty(4, part.stop - part.start)
        before = running.total.clone()
        shrink = absorb(
            Products(logits[:, part].clone(), own, places - part.start), running, unscaled
        )
        torch.testing.assert_close(running.total, before * shrink + unscaled.sum(dim=1))
    torch.testing.assert_close(running.highest + running.total.log(), whole.logsumexp(dim=1))
    expected = torch.where(places >= 0, whole.gather(1, places.clamp(min=0)), 0.0)
    torch.testing.assert_close(running.asked, expected)


@pytest.mark.parametrize("has_along", [False, True])
def test_the_gradient_is_autograds(has_along):
    torch.manual_seed(0)
    logits = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    places, to_asked = torch.tensor([[0, 6], [3, 3], [5, 1]]), torch.randn(3, 2).double()
    along = torch.randn(3, 7).double() if has_along else None
    normalizer = logits.logsumexp(dim=1)  # (3,)
    probabilities = (logits - normalizer[:, None]).exp()
    loss = ((logits.gather(1, places) - normalizer[:, None]) * to_asked).sum()
    shift = -to_asked.sum(dim=1)
    if along is not None:
        loss = loss + (probabilities * along).sum()
        shift = shift - (probabilities.detach() * along).sum(dim=1)
    loss.backward()
    block = Products(logits.detach().clone(), None, places)
    found = block.products  # over what is read
    spread(block, normalizer.detach(), shift, along, to_asked, found)
    torch.testing.assert_close(found, logits.grad)


KERNELS = """
import torch
from multitudes.deep.ops import softmax as kernels
from multitudes.seq2set.network import softmax_blocks as plain
from multitudes.seq2set.network.softmax_blocks import Products, Running

torch.manual_seed(0)
kernels.AT_ONCE = 16
for c, k, has_bias, more, kind in [
    (5, 3, True, True, torch.float32), (40, 1, False, False, torch.float32),
    (33, 2, True, True, torch.float16), (16, 0, True, False, torch.float32),
    (20, 35, True, True, torch.float32),
]:
    n, near = 6, 1e-5 if kind == torch.float32 else 2e-3
    logits, bias = (4 * torch.randn(n, c)).to(kind), torch.randn(c) if has_bias else None
    logits[0, 1] = -torch.inf
    places = torch.randint(-2, c + 3, (n, k))
    results = []
    for absorb in (plain.absorb, kernels.absorb_on_device):
        running = Running(torch.full((n,), -2.0), torch.ones(n), torch.zeros(n, k))
        unscaled = torch.zeros(n, c, dtype=kind) if more else None
        shrink = absorb(Products(logits.clone(), bias, places), running, unscaled)
        results.append((*running, shrink, *([unscaled] if more else [])))
    torch.testing.assert_close(*results, atol=near, rtol=near)
    normalizer, shift = running.highest + running.total.log(), torch.randn(n)
    along, to_asked = torch.randn(n, c).to(kind) if more else None, torch.randn(n, k)
    results = []
    for spread, onto in [
        (plain.spread, "apart"), (kernels.spread_on_device, "apart"),
        (kernels.spread_on_device, "products"), (kernels.spread_on_device, "along"),
    ]:
        block = Products(logits.clone(), bias, places)
        also = None if along is None else along.clone()
        places_of = {"products": block.products, "along": also}
        out = places_of.get(onto)
        out = torch.empty_like(logits) if out is None else out
        spread(block, normalizer, shift, also, to_asked, out)
        results.append(out)
    for found in results[1:]:
        torch.testing.assert_close(found, results[0], atol=near, rtol=near)
"""


def test_the_kernels_agree_with_tensor_operations():
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    run_interpreted(KERNELS)


@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_the_kernels_compile_for_a_gpu(kind):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops.softmax import _absorb_kernel, _spread_kernel

    read = {"products": f"*{kind}", "bias": "*fp32", "places": "*i64"}
    sizes = {"c": "i32", "k": "i32"}
    forward = {
        **read,
        **dict.fromkeys(("highest", "total", "asked", "shrink"), "*fp32"),
        "unscaled": f"*{kind}",
        **sizes,
    }
    constants = {"HAS_BIAS": True, "HAS_UNSCALED": True, "AT_ONCE": 2048, "K": 32}
    compile_for_a_gpu(_absorb_kernel, forward, constants)
    backward = {
        **read,
        **dict.fromkeys(("normalizer", "shift", "to_asked"), "*fp32"),
        "along": f"*{kind}",
        "out": f"*{kind}",
        **sizes,
    }
    constants = {"HAS_BIAS": True, "HAS_ALONG": True, "AT_ONCE": 2048, "K": 32, "TWINS": 16}
    compile_for_a_gpu(_spread_kernel, backward, constants)


@pytest.mark.gpu
@pytest.mark.parametrize("onto", ["products", "along", "apart"])
def test_a_gpu_gives_the_same(onto):
    torch.manual_seed(0)
    n, c, k = 300, 5000, 27
    logits, along = torch.randn(n, c), torch.randn(n, c)
    places, to_asked = torch.randint(-1, c, (n, k)), torch.randn(n, k)
    normalizer, shift = logits.logsumexp(dim=1), torch.randn(n)
    results = []
    for device in ("cpu", "cuda"):
        products, more = logits.to(device, copy=True), along.to(device, copy=True)
        block = Products(products, None, places.to(device))
        out = {"products": products, "along": more, "apart": torch.empty_like(products)}[onto]
        spread(block, normalizer.to(device), shift.to(device), more, to_asked.to(device), out)
        results.append(out.cpu())
    torch.testing.assert_close(*results, atol=1e-5, rtol=1e-4)
