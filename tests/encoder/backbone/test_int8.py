"""Eight bits give nearly the same embeddings, whatever is encoded beside a text."""

import sys

import numpy as np
import pytest

pytest.importorskip("transformers")
import torch

from multitudes.encoder.backbone.eight_bits import evening_factors, quantized
from multitudes.encoder.backbone.embedding import PredictionEncoder
from multitudes.encoder.backbone.int8 import Int8Encoder, export_onnx
from multitudes.encoder.backbone.model import Backbone
from multitudes.errors import ConfigError, MissingExtraError
from tests.encoder.backbone.small_encoders import PADDING, small_encoder, texts_of

FAMILIES = ["bert", "distilbert", "mpnet", "roberta", "xlm-roberta"]


class Tokenizer:
    pad_token_id = PADDING


def backbone_of(family, config, **changes):
    return Backbone(small_encoder(family, **changes), Tokenizer(), config).eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_nearly_the_same_embeddings_and_no_matter_beside_what(tiny_backbone, family):
    backbone = backbone_of(family, tiny_backbone.config)
    rows = texts_of([5, 2, 30, 1, *range(3, 40)])
    encode = PredictionEncoder(backbone, "int8")
    found, exact = encode(rows), backbone.encode(rows)
    assert (found * exact).sum(1).min() > 0.99
    assert np.abs(found - exact).max() > 0  # it was rounded
    for some in ([0], [3, 1], [2, 5, 6]):
        np.testing.assert_array_equal(encode(rows.take(np.array(some))), found[some])
    assert encode(rows.take(np.array([], int))).shape == (0, 32)


def test_sizes_that_no_register_has(tiny_backbone):
    sizes = {"hidden_size": 60, "num_attention_heads": 3, "intermediate_size": 50}
    backbone = backbone_of("bert", tiny_backbone.config, **sizes)
    rows = texts_of([5, 2, 30, 1])
    assert (Int8Encoder(backbone)(rows) * backbone.encode(rows)).sum(1).min() > 0.99


@pytest.mark.parametrize("pooling", ["mean", "cls", "lasttoken"])
def test_pooling(tiny_config, pooling):
    import dataclasses

    backbone = backbone_of("bert", dataclasses.replace(tiny_config, pooling=pooling))
    rows = texts_of([5, 2, 30, 1])
    assert (Int8Encoder(backbone)(rows) * backbone.encode(rows)).sum(1).min() > 0.99


def test_the_number_of_threads_changes_nothing(tiny_backbone):
    rows = texts_of([7] * 200)
    before, found = torch.get_num_threads(), []
    try:
        for n_threads in (1, 3):
            torch.set_num_threads(n_threads)
            found.append(PredictionEncoder(backbone_of("bert", tiny_backbone.config), "int8")(rows))
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(*found)


def test_a_real_encoder_keeps_its_embeddings(minilm, texts):
    rows = minilm.tokenize(["Council regulation on the common market in fish", *texts]).rows
    found = PredictionEncoder(minilm, "int8")(rows)
    assert (found * minilm.encode(rows)).sum(1).min() > 0.995


def test_refuses_other_families_and_devices(tiny_backbone, monkeypatch):
    with pytest.raises(ConfigError, match=r"int8' is for BERT, .*got ModernBertModel"):
        Int8Encoder(backbone_of("modernbert", tiny_backbone.config))
    monkeypatch.setattr(Backbone, "device", torch.device("cuda"))
    with pytest.raises(ConfigError, match="is for a CPU"):
        PredictionEncoder(tiny_backbone, "int8")


@pytest.mark.parametrize("family", ["bert", "distilbert", "mpnet", "roberta"])
def test_the_exported_graph_gives_the_same_states(tiny_backbone, family, tmp_path):
    """Padded, in another library, which adds up in another order."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    backbone = backbone_of(family, tiny_backbone.config)
    export_onnx(backbone, tmp_path / "encoder.onnx")
    session = runtime.InferenceSession(
        tmp_path / "encoder.onnx", providers=["CPUExecutionProvider"]
    )
    rows, ours = texts_of([5, 9]), Int8Encoder(backbone)
    ids, mask = np.full((2, 9), PADDING), np.zeros((2, 9), np.int32)
    ids[0, :5], ids[1] = rows.ids[:5], rows.ids[5:]
    mask[0, :5], mask[1] = 1, 1
    first = PADDING + 1 if ours.layers.parts.after_padding else 0
    given = {"ids": ids, "mask": mask, "positions": np.arange(first, first + 9)}
    bias = ours._bias(9)
    if bias.size:
        given["bias"] = bias[None]
    (states,) = session.run(None, given)
    mine = ours.layers(rows, bias)
    theirs = np.concatenate([states[0, :5], states[1]])
    lengths = np.linalg.norm(mine, axis=1) * np.linalg.norm(theirs, axis=1)
    assert ((mine * theirs).sum(1) / lengths).min() > 0.995


def test_says_where_it_is_no_gain(tiny_backbone, monkeypatch, capsys):
    monkeypatch.setattr("multitudes.encoder.backbone.int8.instructions", lambda: "none")
    Int8Encoder(tiny_backbone)
    assert "slower than float32 on this processor" in capsys.readouterr().err


def test_without_onnx_the_message_installs_it(tiny_backbone, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"multitudes\[onnx\]"):
        export_onnx(tiny_backbone, tmp_path / "encoder.onnx")


def test_rounding_is_within_half_a_step_and_zeros_stay():
    weight = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    weight[:, 2] = 0
    rounded, scale = quantized(weight)
    assert rounded.dtype == np.int8
    assert (np.abs(rounded * scale - weight) <= 0.5001 * scale).all()
    assert not rounded[:, 2].any()


def test_channels_are_evened_out():
    sizes = np.array([1, 1, 30, 0], np.float32)
    factors = evening_factors(sizes, np.ones((2, 4), np.float32))
    evened = sizes * factors
    assert evened[2] / evened[0] < 4
    assert np.isfinite(factors).all()
