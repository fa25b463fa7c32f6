"""LoRA starts as the encoder itself, trains nothing but adapters, and ends as plain weights."""

import copy
import sys

import numpy as np
import pytest

pytest.importorskip("transformers")
import torch

from multitudes.deep.texts.tokens import pack
from multitudes.encoder.backbone.loading import load_backbone
from multitudes.encoder.backbone.lora import add_adapters, has_adapters, merge_adapters
from multitudes.encoder.backbone.model import Backbone, BackboneConfig
from multitudes.encoder.backbone.packed_layers import packed_forward
from multitudes.errors import ConfigError, MissingExtraError
from tests.encoder.backbone.small_encoders import FAMILIES, NO_DROPOUT, small_encoder, texts_of
from tests.encoder.backbone.test_packed_layers import padded_states

every_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def _peft():
    pytest.importorskip("peft")


def adapted(family):
    """An encoder, and the same with adapters."""
    model = small_encoder(family, **NO_DROPOUT)
    other = copy.deepcopy(model)
    add_adapters(other, rank=4, alpha=8)
    return model, other


def trained(model, packed, *, checkpointing=False):
    """A few steps over packed texts."""
    model.train()
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.SGD(weights, lr=0.05)
    target = torch.randn(1, 32, generator=torch.Generator().manual_seed(0))
    for _ in range(3):
        optimizer.zero_grad()
        (packed_forward(model, packed, checkpointing=checkpointing) * target).mean().backward()
        optimizer.step()
    return model.eval()


@every_family
@pytest.mark.usefixtures("_peft")
def test_it_starts_as_the_encoder_and_trains_adapters_alone(family):
    packed = pack(texts_of([5, 2, 12]))
    model, other = adapted(family)
    with torch.no_grad():
        torch.testing.assert_close(packed_forward(other, packed), packed_forward(model, packed))
    before = {name: weight.clone() for name, weight in other.named_parameters()}
    trained(other, packed)
    changed = {n for n, weight in other.named_parameters() if not torch.equal(weight, before[n])}
    assert changed
    assert all("lora_" in name for name in changed)
    assert {n for n, weight in other.named_parameters() if weight.requires_grad} == {
        name for name in before if "lora_" in name
    }


@every_family
@pytest.mark.usefixtures("_peft")
def test_merged_is_unmerged_is_padded(family):
    packed = pack(texts_of([5, 2, 12]))
    _, other = adapted(family)
    trained(other, packed)
    with torch.no_grad():
        apart, padded = packed_forward(other, packed), padded_states(other, packed)
        merge_adapters(other)
        merged = packed_forward(other, packed)
    assert not has_adapters(other)
    torch.testing.assert_close(merged, apart, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(padded, apart, atol=1e-5, rtol=1e-5)
    assert set(other.state_dict()) == set(small_encoder(family).state_dict())


@pytest.mark.usefixtures("_peft")
def test_checkpointing_gives_the_same_adapters():
    packed = pack(texts_of([5, 2, 12]))
    torch.manual_seed(0)
    _, one = adapted("bert")
    other = copy.deepcopy(one)
    trained(one, packed)
    trained(other, packed, checkpointing=True)
    for (name, kept), again in zip(one.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(again, kept, msg=name)


@pytest.mark.usefixtures("_peft")
def test_a_saved_backbone_has_the_weights_merged(tiny_backbone, texts, tmp_path):
    from multitudes.store import read_state, save

    add_adapters(tiny_backbone.model, rank=2, alpha=4)
    with torch.no_grad():
        for name, weight in tiny_backbone.named_parameters():
            if "lora_B" in name:
                weight += 0.1
    save(tiny_backbone, tmp_path / "model")
    again = Backbone.from_state(read_state(tmp_path / "model"))
    assert not has_adapters(again.model)
    expected = tiny_backbone.encode(texts)
    np.testing.assert_allclose(again.encode(texts), expected, atol=1e-5)
    np.testing.assert_allclose(tiny_backbone.frozen("float32").encode(texts), expected, atol=1e-5)
    tiny_backbone.merge_adapters()
    np.testing.assert_allclose(tiny_backbone.encode(texts), expected, atol=1e-5)
    pooler = {id(weight) for weight in tiny_backbone.model.pooler.parameters()}
    for weight in tiny_backbone.parameters():
        assert weight.requires_grad == (id(weight) not in pooler)


@pytest.mark.usefixtures("_peft")
def test_a_model_is_trained_through_adapters_and_ends_without(tiny_backbone, tmp_path):
    import scipy.sparse as sp

    from multitudes.encoder.prime import Prime

    tiny_backbone.write_folder(tmp_path)
    before = {n: w.clone() for n, w in tiny_backbone.model.named_parameters()}
    model = Prime().set_params(
        backbone__name=str(tmp_path), backbone__lora_rank=2, backbone__max_length=8,
        backbone__label_max_length=8, training__epochs=1, training__device="cpu",
    )  # fmt: skip
    model.fit(
        ["red box", "blue car", "old house"], sp.eye_array(3).tocsr(), label_texts=list("abc")
    )
    after = dict(model.network_.backbone.model.named_parameters())
    assert set(after) == set(before)
    moved = {name for name, weight in after.items() if not torch.equal(weight, before[name])}
    assert moved
    assert all("layer" in name and "LayerNorm" not in name for name in moved)
    assert model.predict(["red box"], top_k=2).labels.shape == (1, 2)


def test_an_encoder_from_scratch_is_refused():
    with pytest.raises(ConfigError, match="lora_rank must be 0 for the 'scratch' encoder"):
        load_backbone(BackboneConfig(name="scratch", lora_rank=2), texts=["a text"])


def test_without_peft_the_message_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtraError, match=r"multitudes\[lora\]"):
        add_adapters(small_encoder("bert"), rank=2, alpha=4)
