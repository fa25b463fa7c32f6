"""Embeddings by products of 8-bit numbers: for prediction on CPUs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from multitudes.deep.texts.tokens import TokenRows
from multitudes.encoder.backbone.eight_bits import as_array
from multitudes.encoder.backbone.lora import merged_copy
from multitudes.encoder.backbone.model import Backbone
from multitudes.encoder.backbone.onnx_graph import encoder_graph
from multitudes.encoder.backbone.rounded_layers import RoundedLayers
from multitudes.errors import require
from multitudes.kernels.encoder.byte_products import instructions
from multitudes.kernels.threads import ThreadTeam
from multitudes.progress import tell, track
from multitudes.types import FloatArray

TOKENS_AT_ONCE = 192  # their states stay in the cache next to a core


class Int8Encoder:
    """Embeds tokenized texts with a backbone whose weights are rounded to 8 bits.

    The rounded encoder is made here, from the weights, and kept in memory: a stored model holds
    nothing of it. A text's embedding does not depend on the texts beside it, nor on the number of
    threads, which is torch's.

    Parameters
    ----------
    backbone : Backbone
        BERT, DistilBERT, RoBERTa or MPNet, on the CPU.

    Raises
    ------
    ConfigError
        If the encoder is of another family.
    """

    def __init__(self, backbone: Backbone) -> None:
        self.backbone = backbone
        if instructions() == "none":
            tell(
                "precision='int8' is slower than float32 on this processor, which has no AVX2: use "
                "precision='auto'"
            )
        self.layers = RoundedLayers(merged_copy(backbone.model))

    def __call__(self, rows: TokenRows, progress: str = "embedding texts") -> FloatArray:
        """Embeddings (n, d) of tokenized texts, of unit length, float32."""
        found = np.empty((len(rows), self.backbone.dim), np.float32)
        order = np.argsort(-rows.lengths, kind="stable")
        bias = self._bias(int(rows.lengths.max(initial=0)))
        batches = np.split(order, _ends(rows.lengths[order])) if len(rows) else []
        with track(progress, len(rows), "texts") as task:

            def embed(some: npt.NDArray[Any]) -> None:
                taken = rows.take(some)
                states = self.layers(taken, bias)
                found[some] = _pooled(states, taken.offsets, self.backbone.config.pooling)
                task.advance(len(some))

            with ThreadTeam(torch.get_num_threads()) as team:
                team.map(embed, batches)
        return found

    def _bias(self, length: int) -> FloatArray:
        """What MPNet adds to the scores of its attention, (n_heads, length, length)."""
        name = self.layers.parts.relative_bias
        if not name:
            return np.empty((self.layers.n_heads, 0, 0), np.float32)
        with torch.no_grad():
            encoder = self.backbone.model.get_submodule(name)
            bias = encoder.compute_position_bias(torch.empty(1, length))  # (1, heads, ...)
            return as_array(bias[0].contiguous())


def _ends(lengths: npt.NDArray[np.int64]) -> list[int]:
    """Where to cut texts into batches of about `TOKENS_AT_ONCE` tokens."""
    batch = np.cumsum(lengths) // TOKENS_AT_ONCE
    return list(np.flatnonzero(np.diff(batch)) + 1)


def _pooled(states: FloatArray, offsets: npt.NDArray[np.int64], how: str) -> FloatArray:
    """What `model.pooled` does, of states in numpy."""
    if how in ("cls", "lasttoken"):
        vectors = states[offsets[:-1] if how == "cls" else offsets[1:] - 1]
    else:
        texts = pairwise(offsets)
        vectors = np.stack([states[start:end].mean(axis=0) for start, end in texts])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)


def export_onnx(backbone: Backbone, path: str | Path) -> None:
    """Write the encoder with 8-bit weights as an ONNX file, for other programs.

    Inputs and output are those of `encoder_graph`; onnxruntime has the operators it uses.
    """
    onnx, runtime = (require(name, extra="onnx") for name in ("onnx", "onnxruntime"))
    onnx.save(encoder_graph(merged_copy(backbone.model)), str(path))
    # Loaded once, so that a file that cannot be run is an error here.
    runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
