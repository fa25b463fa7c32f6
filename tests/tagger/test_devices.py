from __future__ import annotations

import pytest
import torch

from multitudes.errors import ConfigError
from multitudes.tagger import Tagger
from multitudes.tagger.assembly import assemble

from .centroids import LABELS, TEXTS
from .tiny_encoder import topical


def test_the_device_reaches_training_and_index():
    wishes = Tagger("prime", device="cpu")._wishes()
    model, _, _ = assemble(wishes, topical(5), from_groups=False)
    assert model.training.device == model.index.device == "cpu"
    assert model.sampler.positives == 2


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_a_model_without_torch_stays_where_it_is(device):
    tagger = Tagger("one-vs-all", device=device)
    tagger.check()
    fitted = tagger.fit(TEXTS, LABELS)
    assert fitted.to(device) is fitted


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
