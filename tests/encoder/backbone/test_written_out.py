"""Layers with their gradient written out against the plain ones, in Triton's interpreter."""

import pytest

pytest.importorskip("transformers")

import torch

from multitudes.encoder.backbone.architectures import architecture_of
from multitudes.encoder.backbone.token_means import token_means
from multitudes.encoder.backbone.written_out import cast_together, layer_parameters
from tests.encoder.backbone.small_encoders import small_encoder
from tests.triton_kernels import run_interpreted

CHECK = """
import torch
from unittest.mock import patch
from multitudes.deep.ops.switch import kernels
from multitudes.deep.texts.tokens import pack
from multitudes.encoder.backbone import packed_layers
from tests.encoder.backbone.small_encoders import NO_DROPOUT, SIZE, small_encoder, texts_of

packed, weight = pack(texts_of([4, 1, 17]), round_up_to=8), torch.randn(22, SIZE)
found, calls = [], []
plain = packed_layers.written_out_layers
counted = lambda *given: calls.append(1) or plain(*given)
with patch.object(packed_layers, "written_out_layers", counted):
    for setting in ("on", "-residual_norm"):
        with kernels(setting):
            model = small_encoder({family!r}, **NO_DROPOUT).train()
            states = packed_layers.packed_forward(model, packed)[:22]
            (states * weight).sum().backward()
            found.append([states.detach(), *(p.grad for p in model.parameters())])
    with kernels("on"), torch.no_grad():
        packed_layers.packed_forward(model, packed)
assert len(calls) == 1, calls  # not without kernels, nor without gradients
for here, there in zip(*found, strict=True):
    torch.testing.assert_close(here, there, atol=1e-3, rtol=1e-3)
"""


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_the_same_states_and_gradients_as_plain_layers(family):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    run_interpreted(CHECK.format(family=family))


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_parameters_come_back_in_their_order(family):
    model = small_encoder(family)
    parts = architecture_of(model)
    layers = model.get_submodule(parts.layers)
    parameters = [layer_parameters(layer, parts) for layer in layers]
    dim, wide = parameters[0][0].shape[0], len(parameters[0][10])
    for own, cast in zip(
        parameters, cast_together(parameters, torch.bfloat16, dim=dim, wide=wide), strict=True
    ):
        for parameter, copy in zip(own, cast.by_parameter(), strict=True):
            assert torch.equal(copy, parameter.to(torch.bfloat16))
        assert torch.equal(cast.qkv[dim : 2 * dim], own[1].to(torch.bfloat16))
        assert torch.equal(cast.last_norm[0], own[13].to(torch.bfloat16))


def test_means_of_tokens_and_their_gradient():
    torch.manual_seed(0)
    states = torch.randn(9, 3, dtype=torch.float32, requires_grad=True)
    offsets, texts = torch.tensor([0, 4, 5, 7]), torch.tensor([0, 0, 0, 0, 1, 2, 2, 3, 3])
    means = token_means(states, texts, offsets)
    expected = torch.stack([part.mean(0) for part in states[:7].split([4, 1, 2])])
    torch.testing.assert_close(means, expected)
    weight = torch.randn(3, 3)
    found, plain = (
        torch.autograd.grad((one * weight).sum(), states)[0] for one in (means, expected)
    )
    torch.testing.assert_close(found, plain)
    assert (found[7:] == 0).all()  # filling
