"""Packed layers give what transformers gives to padded texts, for every family."""

import copy

import pytest

pytest.importorskip("transformers")

import torch

from multitudes.deep.texts.tokens import pack
from multitudes.encoder.backbone.behind_attention import behind_attention
from multitudes.encoder.backbone.model import pooled
from multitudes.encoder.backbone.packed_layers import packed_forward, supports_packed
from tests.encoder.backbone.small_encoders import (
    FAMILIES,
    NO_DROPOUT,
    PADDING,
    SIZE,
    small_encoder,
    texts_of,
)

every_family = pytest.mark.parametrize("family", FAMILIES)


def padded_states(model, packed):
    """Token states (n_tokens, d) as transformers computes them."""
    ids, mask = packed.padded(PADDING)
    return model(input_ids=ids, attention_mask=mask).last_hidden_state[mask.bool()]


@every_family
@pytest.mark.parametrize("lengths", [[5, 2, 30, 1], [3], [7, 7, 7], [100, 1, 130]])
@pytest.mark.parametrize("round_up_to", [1, 16])
def test_same_states_as_the_padded_model(family, lengths, round_up_to):
    model = small_encoder(family)
    packed = pack(texts_of(lengths), round_up_to=round_up_to)
    with torch.no_grad():
        found = packed_forward(model, packed)
        expected = padded_states(model, packed)
    torch.testing.assert_close(found[: sum(lengths)], expected, atol=1e-5, rtol=1e-5)
    assert torch.isfinite(found).all()


@every_family
def test_same_embeddings_in_bf16(family):
    model = small_encoder(family)
    packed = pack(texts_of([5, 2, 30, 12, 1]))
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        ours = packed_forward(model, packed)
        theirs = padded_states(model, packed)
    found, expected = (pooled(states, packed, "mean") for states in (ours, theirs))
    assert (found * expected).sum(1).min() > 1 - 1e-4
    # Both are rounded: ours is about as near to what float32 gives.
    with torch.no_grad():
        exact = pooled(padded_states(model, packed), packed, "mean")
    assert (found - exact).norm(dim=1).max() < 1.5 * (expected - exact).norm(dim=1).max()


@every_family
@pytest.mark.parametrize("checkpointing", [False, True])
def test_same_gradients_as_the_padded_model(family, checkpointing):
    lengths = [4, 1, 23]
    packed = pack(texts_of(lengths), round_up_to=8)
    weight = torch.randn(sum(lengths), SIZE)
    plain = small_encoder(family, **NO_DROPOUT).train()
    ours = copy.deepcopy(plain)
    (padded_states(plain, packed) * weight).sum().backward()
    states = packed_forward(ours, packed, checkpointing=checkpointing)
    (states[: sum(lengths)] * weight).sum().backward()
    expected = dict(plain.named_parameters())
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(
            parameter.grad, expected[name].grad, atol=1e-3, rtol=1e-3, msg=name
        )


@every_family
def test_dropout_only_in_training_and_everywhere_that_transformers_drops(family):
    packed = pack(texts_of([6] * 64))
    some = dict.fromkeys(NO_DROPOUT, 0.3)
    model = small_encoder(family, **some)
    with torch.no_grad():
        still = packed_forward(model, packed)
        assert torch.equal(still, packed_forward(model, packed))
        model.train()
        ours = torch.stack([packed_forward(model, packed) for _ in range(30)])
        theirs = torch.stack([padded_states(model, packed) for _ in range(30)])
    assert not torch.allclose(ours[0], ours[1])
    # The same amount of noise: a place left out or doubled changes it by more than chance does.
    ratio = (ours.var(0).mean() / theirs.var(0).mean()).item()
    assert ratio == pytest.approx(1, abs=0.03)


@every_family
def test_checkpointing_drops_the_same_in_the_second_pass(family):
    packed = pack(texts_of([6, 3]))
    model = small_encoder(family).train()
    gradients = []
    for checkpointing in (False, True):
        torch.manual_seed(5)
        model.zero_grad()
        packed_forward(model, packed, checkpointing=checkpointing).square().sum().backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    for kept, again in zip(*gradients, strict=True):
        torch.testing.assert_close(again, kept)


def test_compiling_is_for_training_alone(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "multitudes.encoder.backbone.packed_layers.compiled_behind_attention",
        lambda *given: calls.append(given) or behind_attention(*given),
    )
    model, packed = small_encoder("bert", **NO_DROPOUT), pack(texts_of([4, 2]))
    still = packed_forward(model, packed, compiled=True)
    assert not calls
    torch.testing.assert_close(packed_forward(model.train(), packed, compiled=True), still)
    assert len(calls) == 3  # one a layer


def test_refuses_architectures_it_does_not_know():
    assert supports_packed(small_encoder("bert"))
    assert not supports_packed(small_encoder("bert", hidden_act="relu"))
    assert not supports_packed(small_encoder("roberta", is_decoder=True))
    assert not supports_packed(torch.nn.Linear(2, 2))


@pytest.mark.gpu
@every_family
@pytest.mark.parametrize("lengths", [[5, 2, 9, 1], [3, 100, 17, 64, 33], [130, 20]])
def test_a_gpu_gives_the_same_states_and_gradients(family, lengths):
    weight = torch.randn(sum(lengths), SIZE)
    found = []
    for device in ("cpu", "cuda"):
        model = small_encoder(family, **NO_DROPOUT).train().to(device)
        states = packed_forward(model, pack(texts_of(lengths), device=device))
        (states * weight.to(device)).sum().backward()
        found.append([states.detach().cpu(), *(p.grad.cpu() for p in model.parameters())])
    for here, there in zip(*found, strict=True):
        torch.testing.assert_close(there, here, atol=2e-2, rtol=2e-3)


@pytest.mark.gpu
@every_family
def test_a_gpu_drops_anew_in_each_pass(family):
    model = small_encoder(family).train().cuda()
    packed = pack(texts_of([4, 20, 2]), device="cuda")
    first, second = (packed_forward(model, packed) for _ in range(2))
    assert not torch.allclose(first, second)
    first.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)
