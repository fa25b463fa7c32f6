from __future__ import annotations

import pytest
import torch

from multitudes.errors import ConfigError
from multitudes.features import ConcatFeatures
from multitudes.tagger import Tagger
from multitudes.tagger.assembly import assemble
from multitudes.tagger.devices import move

from .centroids import LABELS, TEXTS
from .tiny_encoder import topical


def test_the_device_reaches_training_and_index():
    spec = Tagger("prime", device="cpu")._spec()
    model, _, _ = assemble(spec, topical(5), from_groups=False)
    assert model.training.device == model.index.device == "cpu"
    assert model.sampler.positives == 2


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_a_model_without_torch_stays_where_it_is(device):
    tagger = Tagger("one-vs-all", device=device)
    tagger.check()
    fitted = tagger.fit(TEXTS, LABELS)
    assert fitted.to(device) is fitted
    assert fitted.to(precision="float32").to(device, precision="auto") is fitted
    with pytest.raises(ConfigError, match="OneVsAll computes in float32 alone, got precision 'bf1"):
        fitted.to(precision="bf16")


class Movable:
    """Notes where and how it is to compute."""

    def to(self, device=None, *, precision=None):
        self.given = device, precision


def test_device_and_precision_reach_model_and_features():
    model, blocks = Movable(), [Movable(), object()]
    features = ConcatFeatures([])
    features.blocks_ = blocks
    move(model, features, "cpu", "bf16")
    assert model.given == blocks[0].given == ("cpu", "bf16")
    move(model, None, None, "float32")
    assert model.given == (None, "float32")


def test_devices_that_cannot_be_used(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="OneVsAll computes on the CPU alone, got device 'cuda'"):
        Tagger("one-vs-all", device="cuda").check()
    with pytest.raises(ConfigError, match="OneVsAll computes on the CPU alone"):
        Tagger("one-vs-all").fit(TEXTS, LABELS).to("cuda")
    with pytest.raises(ConfigError, match="torch finds no GPU"):
        Tagger("prime", device="cuda").check()
    with pytest.raises(ConfigError, match="must be one of .*'cuda'.* got 'gpu'"):
        Tagger("prime", device="gpu").check()
