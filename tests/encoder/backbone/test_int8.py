"""Eight bits give nearly the same embeddings, whatever is encoded beside a text."""

import sys

import numpy as np
import pytest

pytest.importorskip("transformers")
import torch

from multitudes.encoder.backbone.embedding import PredictionEncoder
from multitudes.encoder.backbone.model import Backbone
from multitudes.encoder.backbone.onnx_graph import encoder_graph, quantized, supports_int8
from multitudes.errors import ConfigError, MissingExtraError
from tests.encoder.backbone.small_encoders import PADDING, small_encoder, texts_of


@pytest.fixture
def _runtime():
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")


class Tokenizer:
    pad_token_id = PADDING


def backbone_of(family, config):
    return Backbone(small_encoder(family), Tokenizer(), config).eval()


@pytest.mark.usefixtures("_runtime")
@pytest.mark.parametrize("family", ["bert", "distilbert", "mpnet", "roberta"])
def test_nearly_the_same_embeddings_and_no_matter_beside_what(tiny_backbone, family):
    backbone = backbone_of(family, tiny_backbone.config)
    rows = texts_of([5, 2, 30, 1, *range(3, 40)])
    encode = PredictionEncoder(backbone, "int8")
    found, exact = encode(rows), backbone.encode(rows)
    assert (found * exact).sum(1).min() > 0.99
    assert np.abs(found - exact).max() > 0  # it was rounded
    for some in ([0], [3, 1], [2, 5, 6]):
        np.testing.assert_allclose(encode(rows.take(np.array(some))), found[some], atol=1e-5)
    assert encode(rows.take(np.array([], int))).shape == (0, 32)


@pytest.mark.usefixtures("_runtime")
def test_refuses_other_families_and_devices(tiny_backbone, monkeypatch):
    with pytest.raises(ConfigError, match="int8' is for BERT, .*got ModernBertModel"):
        encoder_graph(small_encoder("modernbert"))
    assert not supports_int8(torch.nn.Linear(2, 2))
    monkeypatch.setattr(Backbone, "device", torch.device("cuda"))
    with pytest.raises(ConfigError, match="is for a CPU"):
        PredictionEncoder(tiny_backbone, "int8")


def test_without_onnxruntime_the_message_installs_it(tiny_backbone, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"multitudes\[onnx\]"):
        PredictionEncoder(tiny_backbone, "int8")


def test_rounding_is_within_half_a_step_and_zeros_stay():
    weight = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    weight[:, 2] = 0
    rounded, scale = quantized(weight)
    assert rounded.dtype == np.int8
    assert (np.abs(rounded * scale - weight) <= 0.5001 * scale).all()
    assert not rounded[:, 2].any()
