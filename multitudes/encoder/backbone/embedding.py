"""Embeddings in training and prediction: batches that suit the device, the fastest precision."""

from __future__ import annotations

from multitudes.deep.devices import Precision, fastest_precision
from multitudes.deep.processor import checked_precision
from multitudes.deep.texts.tokens import TokenRows
from multitudes.encoder.backbone.int8 import Int8Encoder
from multitudes.encoder.backbone.model import Backbone
from multitudes.errors import ConfigError
from multitudes.types import FloatArray

TEXTS_AT_ONCE = {"cuda": 4096, "cpu": 64}


def embed(
    backbone: Backbone, rows: TokenRows, progress: str, *, precision: Precision | None = None
) -> FloatArray:
    """Embeddings (n, d) of tokenized texts, in batches that suit the device."""
    kind = backbone.device.type
    return backbone.encode(
        rows,
        batch_size=TEXTS_AT_ONCE.get(kind, 256),
        precision=precision or ("bf16" if kind == "cuda" else "float32"),
        progress=progress,
    )


class PredictionEncoder:
    """Embeds texts with a trained backbone, as fast as the processor can.

    Parameters
    ----------
    backbone : Backbone
        Must not be trained on: on a CPU, bf16 makes a copy of its weights once.
    precision : "auto", "float32", "bf16" or "int8"
        Number format to compute in; auto is bf16 if the processor has it. It moves an embedding
        by about 0.01, int8 (on a CPU) by about 0.05; the weights that are saved stay float32.
    """

    def __init__(self, backbone: Backbone, precision: str) -> None:
        self.backbone, self.setting = backbone, precision
        on_cpu = backbone.device.type == "cpu"
        chosen = fastest_precision(backbone.device) if precision == "auto" else precision
        chosen = checked_precision(chosen)
        self.int8: Int8Encoder | None = None
        if chosen == "int8":
            if not on_cpu:
                raise ConfigError(
                    f"precision='int8' is for a CPU, and the encoder is on {backbone.device}: "
                    "use device='cpu', or 'bf16'"
                )
            self.int8 = Int8Encoder(backbone)
        self.precision: Precision = "bf16" if chosen == "bf16" else "float32"
        if self.precision == "bf16" and on_cpu:
            # Under autocast each call would cast all weights again, which a single text feels.
            self.backbone, self.precision = backbone.frozen("bf16"), "float32"

    def __call__(self, rows: TokenRows, progress: str = "embedding texts") -> FloatArray:
        """Embeddings (n, d) of tokenized texts, of unit length, float32."""
        if self.int8 is not None:
            return self.int8(rows, progress)
        return embed(self.backbone, rows, progress, precision=self.precision)
