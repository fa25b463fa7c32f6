"""The encoder as prediction uses it: on a CPU that knows bfloat16, a copy with such weights."""

from __future__ import annotations

from multitudes.deep.processor import checked_precision
from multitudes.deep.texts.tokens import TokenRows
from multitudes.encoder.backbone.backbone import Backbone
from multitudes.encoder.backbone.encoding import Precision, fastest_precision
from multitudes.encoder.fitting import embed
from multitudes.types import FloatArray


class PredictionEncoder:
    """Embeds texts with a trained backbone, as fast as the processor can.

    Parameters
    ----------
    backbone : Backbone
        Must not be trained on: on a CPU, bf16 makes a copy of its weights once.
    precision : "auto", "float32" or "bf16"
        Number format to compute in; auto is bf16 where the processor has it. It moves an embedding
        by about 0.01; the weights that are saved stay float32.
    """

    def __init__(self, backbone: Backbone, precision: str) -> None:
        self.backbone, self.setting = backbone, precision
        chosen = fastest_precision(backbone.device) if precision == "auto" else precision
        self.precision: Precision = "bf16" if checked_precision(chosen) == "bf16" else "float32"
        if self.precision == "bf16" and backbone.device.type == "cpu":
            # Under autocast each call would cast all weights again, which a single text feels.
            self.backbone, self.precision = backbone.frozen("bf16"), "float32"

    def __call__(self, rows: TokenRows, progress: str = "Embedding texts") -> FloatArray:
        """Embeddings (n, d) of tokenized texts, of unit length, float32."""
        return embed(self.backbone, rows, progress, precision=self.precision)
