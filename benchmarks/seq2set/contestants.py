"""What is compared: Table 3's rows, the two schemes of Table 5, Figure 5's weights."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.prime.contestants import json_value
from multitudes.seq2set import (
    BatchConfig,
    DecodingConfig,
    OTSeq2Set,
    Seq2SetTraining,
    WordsConfig,
    seq2set_preset,
)

SEQUENCES = ["seq2seq", "mlc2seq", "sgm", "seq2seq+lc"]
ABLATIONS = ["bm", "bm+lc", "bm+ot", "otseq2set"]
LAMBDAS = (0, 1, 2, 4, 8, 16)


def figure5_name(weight: float) -> str:
    """The contestant with a weight of the transport distance."""
    return f"otseq2set loss.transport_weight={weight:g}"


GROUPS = {
    "table3": [*SEQUENCES, *ABLATIONS],
    "table5": [f"{name} loss.scheme={scheme}" for name in ("bm", "otseq2set")
               for scheme in ("all", "first-n")],
    "figure5": [figure5_name(weight) for weight in LAMBDAS],
    "main": ["seq2seq", "mlc2seq", "sgm", "otseq2set"],
}  # fmt: skip


def contestant(
    name: str,
    *,
    words: WordsConfig,
    training: Seq2SetTraining,
    batch_size: int,
    changes: Sequence[str] = (),
    random_state: int = 0,
) -> OTSeq2Set:
    """An unfitted model.

    Settings may follow a preset's name: ``"bm loss.scheme=all"``; `changes` are further ones.
    """
    name, *own = name.split()
    model = seq2set_preset(name)
    model.set_params(
        words=words,
        batches=BatchConfig(batch_size=batch_size, predict_batch_size=1024),
        decoding=DecodingConfig(),
        training=training,
        random_state=random_state,
        network__steps_share=1.0,  # as in the paper: no label is cut
    )
    for change in (*changes, *own):
        setting, _, value = change.partition("=")
        model.set_params(**{setting.replace(".", "__"): json_value(value)})
    return model
