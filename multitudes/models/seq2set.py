"""Generators of label sets by name: OTSeq2Set, and the sequence models it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multitudes.models.spec import ModelSpec

_PLAIN = {"network__convolution": False}
_SEQUENCE = {"objective": "sequence"}
_FREQUENT = {"objective": "sequence", "order": "frequent"}
_SGM = _FREQUENT | {"network__global_embedding": True, "network__masked_softmax": True}
_MATCHING = {"loss__transport_weight": 0.0}


def _generator(name: str, summary: str, settings: Mapping[str, Any]) -> ModelSpec:
    return ModelSpec(
        name,
        summary,
        "multitudes.seq2set:OTSeq2Set",
        settings,
        reads="texts",
        in_processes=True,
        stored={"otseq2set": "multitudes.seq2set:OTSeq2Set"},
    )


_ALL_STEPS = {"network__steps_share": 1.0}

MODELS = (
    _generator("otseq2set", "writes the set of labels, its size included; for GPUs", {}),
    _generator(
        "seq2seq", "writes labels one after the other, in a fixed order", _SEQUENCE | _PLAIN
    ),
    _generator("mlc2seq", "seq2seq, frequent labels first", _FREQUENT | _PLAIN),
    _generator("sgm", "seq2seq that weighs all labels it might have written", _SGM | _PLAIN),
)

# Rows of the paper's tables as printed, to compare with: a step for each label of the text that has
# most of them.
ABLATIONS = (
    _generator("bm", "matching alone", _ALL_STEPS | _PLAIN | _MATCHING),
    _generator("bm+lc", "matching and convolution", _ALL_STEPS | _MATCHING),
    _generator("bm+ot", "matching and transport", _ALL_STEPS | _PLAIN),
    _generator("bm+ot+lc", "otseq2set as printed", _ALL_STEPS),
    _generator("seq2seq+lc", "seq2seq with convolution", _ALL_STEPS | _SEQUENCE),
    _generator("mlc2seq+lc", "mlc2seq with convolution", _ALL_STEPS | _FREQUENT),
    _generator("sgm+lc", "sgm with convolution", _ALL_STEPS | _SGM),
)

PAPERS = (
    _generator(
        "otseq2set:paper",
        "otseq2set as printed (Cao and Zhang 2022): a step for each label of the longest list",
        _ALL_STEPS,
    ),
)
