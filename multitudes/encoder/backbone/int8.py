"""Embeddings by 8-bit products in onnxruntime: for prediction on CPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from multitudes.deep.texts.tokens import TokenRows, pack
from multitudes.encoder.backbone.architectures import architecture_of
from multitudes.encoder.backbone.lora import merged_copy
from multitudes.encoder.backbone.model import Backbone, pooled
from multitudes.encoder.backbone.onnx_graph import BIAS, IDS, MASK, POSITIONS, encoder_graph
from multitudes.errors import require
from multitudes.progress import track
from multitudes.types import FloatArray

TEXTS_AT_ONCE = 16  # their states stay in the processor's cache


class Int8Encoder:
    """Embeds tokenized texts with a backbone whose weights are rounded to 8 bits.

    The rounded encoder is made here, from the weights, and kept in memory: a stored model holds
    nothing of it. A text's embedding does not depend on the texts beside it.

    Parameters
    ----------
    backbone : Backbone
        BERT, DistilBERT, RoBERTa or MPNet, on the CPU.

    Raises
    ------
    ConfigError
        If the encoder is of another family.
    MissingExtraError
        If onnx or onnxruntime is not installed.
    """

    def __init__(self, backbone: Backbone) -> None:
        runtime = require("onnxruntime", extra="onnx")
        self.backbone = backbone
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3  # errors
        graph = encoder_graph(merged_copy(backbone.model))
        self.session = runtime.InferenceSession(
            graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, rows: TokenRows, progress: str = "embedding texts") -> FloatArray:
        """Embeddings (n, d) of tokenized texts, of unit length, float32."""
        found = np.empty((len(rows), self.backbone.dim), np.float32)
        order = np.argsort(-rows.lengths, kind="stable")
        with track(progress, len(rows), "texts") as task:
            for start in range(0, len(order), TEXTS_AT_ONCE):
                some = order[start : start + TEXTS_AT_ONCE]
                found[some] = self._embedded(rows.take(some)).numpy()
                task.advance(len(some))
        return found

    def _embedded(self, rows: TokenRows) -> torch.Tensor:
        tokens = pack(rows)
        pad_id = self.backbone.tokenizer.pad_token_id
        ids, mask = tokens.padded(pad_id)  # (n, length) each
        given = {IDS: ids.numpy(), MASK: mask.to(torch.int32).numpy()}
        (states,) = self.session.run(None, given | self._places(ids.shape[1]))
        states = torch.from_numpy(states)[tokens.texts, tokens.positions]  # (n_tokens, d)
        return pooled(states, tokens, self.backbone.config.pooling)

    def _places(self, length: int) -> dict[str, Any]:
        """What the graph is given of the places of tokens."""
        model = self.backbone.model
        parts = architecture_of(model)
        assert parts is not None, "the graph was built"
        table = model.get_submodule(parts.places)
        first = table.padding_idx + 1 if parts.after_padding else 0
        given = {POSITIONS: np.arange(first, first + length)}
        if parts.relative_bias:
            encoder = model.get_submodule(parts.relative_bias)
            with torch.no_grad():
                given[BIAS] = encoder.compute_position_bias(torch.empty(1, length)).numpy()
        return given


def export_onnx(backbone: Backbone, path: str | Path) -> None:
    """Write the encoder with 8-bit weights as an ONNX file, for other programs.

    Inputs and output are those of `encoder_graph`; onnxruntime has the operators it uses.
    """
    onnx = require("onnx", extra="onnx")
    onnx.save(encoder_graph(merged_copy(backbone.model)), str(path))
