"""Parameters in one buffer are the parameters, and their order is the one gradients come in."""

import pytest

pytest.importorskip("transformers")

import torch
import transformers

from multitudes.encoder.packed.flat_layers import (
    cast_together,
    flat_layer,
    layer_parameters,
    layer_size,
)

D, WIDE = 8, 12


def small_layers(n):
    config = transformers.BertConfig(
        vocab_size=9, hidden_size=D, num_hidden_layers=n, num_attention_heads=2,
        intermediate_size=WIDE,
    )  # fmt: skip
    model = transformers.BertModel(config, add_pooling_layer=False)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model.encoder.layer


def test_each_parameter_of_a_layer_has_its_place():
    (module,) = small_layers(1)
    parameters = layer_parameters(module)
    assert {id(p) for p in parameters} == {id(p) for p in module.parameters()}
    assert layer_size(D, WIDE) == sum(p.numel() for p in parameters)
    for part, parameter in zip(
        flat_layer(torch.arange(layer_size(D, WIDE)), D, WIDE).by_parameter(),
        parameters,
        strict=True,
    ):
        assert part.shape == parameter.shape


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32])
def test_all_layers_are_cast_together(kind):
    modules = small_layers(3)
    parameters = [layer_parameters(module) for module in modules]
    layers = cast_together(parameters, kind, dim=D, wide=WIDE)
    for layer, module, own in zip(layers, modules, parameters, strict=True):
        for part, parameter in zip(layer.by_parameter(), own, strict=True):
            assert torch.equal(part, parameter.to(kind))
        assert not layer.qkv.requires_grad
        assert torch.equal(layer.qkv[D : 2 * D], module.attention.self.key.weight.to(kind))
        assert torch.equal(layer.norm[0], module.attention.output.dense.bias.to(kind))
        assert torch.equal(layer.last_norm[1], module.output.LayerNorm.weight.to(kind))
    assert layers[0].qkv.data_ptr() != layers[1].qkv.data_ptr()
