"""Layers with a gradient written out against layers of plain operations.

In Triton's interpreter, so that no GPU is needed; and on one, where there is one.
"""

import pytest

pytest.importorskip("transformers")

import torch

from multitudes.deep.texts.tokens import pack
from multitudes.encoder.packed import packed_bert
from multitudes.encoder.packed.packed_bert import packed_bert_forward
from tests.seq2set.operations import Operations
from tests.triton_kernels import run_interpreted

from .test_packed_bert import small_bert, texts_of

VIEWS = {"alias", "detach", "empty", "empty_like", "select", "slice", "split", "split_with_sizes"}
VIEWS |= {"permute", "t", "unbind", "view"}  # and what only takes memory
STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}

PREPARE = """
import torch
from multitudes.encoder.packed import packed_bert
from multitudes.encoder.packed.packed_bert import packed_bert_forward
from multitudes.deep.texts.tokens import pack
from tests.encoder.packed.test_packed_bert import small_bert, texts_of
from tests.encoder.packed.test_packed_layer import STILL, results

def written_out(*given, **named):
    packed_bert._in_triton = lambda *_: True
    try:
        return results(*given, **named)
    finally:
        packed_bert._in_triton = lambda *_: False
"""

CHECK = (
    PREPARE
    + """
model = small_bert(num_hidden_layers=3, **STILL).train()
packed = pack(texts_of({lengths}), round_up_to=8)
expected, found = results(model, packed), written_out(model, packed)
for name, value in expected.items():
    torch.testing.assert_close(found[name], value, atol=1e-4, rtol=1e-4, msg=name)
"""
)

# In float16: the interpreter multiplies matrices of bfloat16 as if their bits were integers.
MIXED = (
    PREPARE
    + """
model = small_bert(**STILL).train()
packed = pack(texts_of([5, 20, 2]), round_up_to=8)
exact, plain = results(model, packed), results(model, packed, kind=torch.float16)
found = written_out(model, packed, kind=torch.float16)
assert found["states"].dtype == torch.float16

def off(values, name):
    return (values[name].float() - exact[name]).norm()

assert all(found[name].dtype == p.dtype for name, p in model.named_parameters())
for name in found:
    # No worse than plain operations of that type, and those are near.
    assert off(found, name) <= 1.3 * off(plain, name) + 1e-3 * exact[name].norm() + 1e-6, name
    assert off(found, name) <= 0.05 * exact[name].norm() + 0.05, name
"""
)

# The gradient is that of the same draw, seen by finite differences along one direction.
DROPOUT = (
    PREPARE
    + """
model = small_bert(hidden_dropout_prob=0.3, attention_probs_dropout_prob=0.2).double().train()
packed = pack(texts_of([5, 20, 2]), round_up_to=8)
packed_bert._in_triton = lambda *_: True

def states():
    torch.manual_seed(5)
    return packed_bert_forward(model, packed)

assert torch.equal(states(), states())
weight = torch.randn_like(states())
(states() * weight).sum().backward()
own = list(model.encoder.parameters())
directions = [torch.randn_like(p) for p in own]
slope = sum((p.grad * d).sum() for p, d in zip(own, directions))
values = []
for step in (1e-4, -2e-4):
    with torch.no_grad():
        for parameter, direction in zip(own, directions):
            parameter += step * direction
        values.append((states() * weight).sum())
torch.testing.assert_close((values[0] - values[1]) / 2e-4, slope, atol=0.05, rtol=0.01)
torch.manual_seed(6)
assert not torch.allclose(packed_bert_forward(model, packed), states())
"""
)

ACCUMULATE = (
    PREPARE
    + """
model = small_bert(**STILL).train()
packed = pack(texts_of([5, 20, 2]), round_up_to=8)
once = written_out(model, packed)
packed_bert._in_triton = lambda *_: True
with torch.inference_mode():
    assert torch.equal(packed_bert_forward(model.eval(), packed)[:27], once["states"])
model.train()
first = model.encoder.layer[0]
storages = {p.grad.untyped_storage().data_ptr() for p in first.parameters()}
assert len(storages) == 1  # gradients are taken as they come, not copied
twice = written_out(model, packed, again=True)
for name in once.keys() - {"states"}:
    torch.testing.assert_close(twice[name], 2 * once[name], atol=1e-5, rtol=1e-5, msg=name)
"""
)


def results(model, packed, *, kind=None, again=False):
    """States, and the gradients of all parameters by name."""
    if not again:
        model.zero_grad()
    device = packed.ids.device.type
    with torch.autocast(device, kind or torch.bfloat16, enabled=kind is not None):
        states = packed_bert_forward(model, packed)
    n_real = int(packed.offsets[-1])
    upon = torch.randn(n_real, 32, generator=torch.Generator().manual_seed(3)).to(states.device)
    (states[:n_real].float() * upon).sum().backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    return {"states": states[:n_real].detach(), **gradients}


def test_the_same_states_and_gradients():
    pytest.importorskip("triton")
    cases = [[5, 2, 9, 1], [3], [20, 33, 7]]
    run_interpreted("".join(CHECK.format(lengths=lengths) for lengths in cases))


def test_in_mixed_precision_and_again():
    pytest.importorskip("triton")
    run_interpreted(MIXED + ACCUMULATE)


def test_the_gradient_of_dropout_is_that_of_the_same_draw():
    pytest.importorskip("triton")
    run_interpreted(DROPOUT)


class Unlaunched:
    """In a kernel's place: counts how often it would be launched."""

    n_launches = 0

    def __getitem__(self, grid):
        return self

    def __call__(self, *given, **named):
        Unlaunched.n_launches += 1


def test_few_operations_a_layer(monkeypatch):
    """The host must start them faster than a card is done with them."""
    pytest.importorskip("triton")
    from multitudes.deep.ops import embedding, gelu, norm, short_attention

    for module in (embedding, gelu, norm, short_attention):
        for name in ("_forward_kernel", "_backward_kernel"):
            monkeypatch.setattr(module, name, Unlaunched(), raising=False)
    monkeypatch.setattr(packed_bert, "_in_triton", lambda *_: True)

    def in_each_pass(n_layers):
        Unlaunched.n_launches = 0
        model = small_bert(num_hidden_layers=n_layers).train()
        with Operations() as forward:
            states = packed_bert_forward(model, pack(texts_of([5, 9])))
        with Operations() as backward:
            states.sum().backward()
        return forward.counts, backward.counts, Unlaunched.n_launches

    few, many = in_each_pass(2), in_each_pass(3)
    forward, backward = ((many[i] - few[i]) for i in range(2))
    assert {name: forward[name] for name in forward.keys() - VIEWS} == {"addmm": 4, "gelu": 1}
    products = {"mm": 6, "addmm_": 2, "sum": 4}
    assert {name: backward[name] for name in backward.keys() - VIEWS} == products
    assert many[2] - few[2] == 3 + 4  # attention and norms; those and GELU
    assert many[0]["_foreach_copy_"] == 1


@pytest.mark.gpu
@pytest.mark.parametrize("kind", [None, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("lengths", [[5, 2, 9, 1], [3, 100, 17, 64, 33] * 20])
def test_the_same_on_a_gpu(monkeypatch, kind, lengths):
    model = small_bert(max_position_embeddings=128, num_hidden_layers=3, **STILL).train().cuda()
    packed = pack(texts_of(lengths), device="cuda", round_up_to=64)
    found = results(model, packed, kind=kind)
    monkeypatch.setattr(packed_bert, "_in_triton", lambda *_: False)
    plain, exact = results(model, packed, kind=kind), results(model, packed)
    for name, value in exact.items():
        off, usual = ((each[name].float() - value).norm() for each in (found, plain))
        # 1e-4: in theory a key's bias has no gradient, it is but what rounding leaves
        assert off <= 1.5 * usual + 2e-3 * value.norm() + 1e-4, name
        assert found[name].dtype == plain[name].dtype
