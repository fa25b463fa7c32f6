"""OTSeq2Set, the sequence models it is compared with, and what its parts add: Table 3's rows."""

from __future__ import annotations

from typing import Any

from multitudes.errors import ConfigError, suggestion
from multitudes.seq2set.losses.config import SetLossConfig
from multitudes.seq2set.network.config import NetworkConfig
from multitudes.seq2set.otseq2set import OTSeq2Set

_PLAIN = NetworkConfig(convolution=False)
_CONVOLVED = NetworkConfig()
_SGM = NetworkConfig(convolution=False, global_embedding=True, masked_softmax=True)
_SGM_CONVOLVED = NetworkConfig(global_embedding=True, masked_softmax=True)
_MATCHING = SetLossConfig(transport_weight=0.0)
_SEQUENCE = {"objective": "sequence"}
_FREQUENT = {"objective": "sequence", "order": "frequent"}

# name -> (what it is, settings of OTSeq2Set)
PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "otseq2set": ("matching, transport and convolution", {}),
    "bm": ("matching alone", {"network": _PLAIN, "loss": _MATCHING}),
    "bm+lc": ("matching and convolution", {"loss": _MATCHING}),
    "bm+ot": ("matching and transport", {"network": _PLAIN}),
    "bm+ot+lc": ("otseq2set by another name", {}),
    "seq2seq": ("a sequence by label id", {**_SEQUENCE, "network": _PLAIN}),
    "seq2seq+lc": ("the same with convolution", {**_SEQUENCE, "network": _CONVOLVED}),
    "mlc2seq": ("a sequence from frequent to rare", {**_FREQUENT, "network": _PLAIN}),
    "mlc2seq+lc": ("the same with convolution", {**_FREQUENT, "network": _CONVOLVED}),
    "sgm": (
        "mlc2seq with a global embedding and a masked softmax",
        {**_FREQUENT, "network": _SGM},
    ),
    "sgm+lc": ("the same with convolution", {**_FREQUENT, "network": _SGM_CONVOLVED}),
}


def seq2set_preset(name: str) -> OTSeq2Set:
    """A new, unfitted OTSeq2Set with the settings of a preset."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}: {suggestion(name, PRESETS)}")
    return OTSeq2Set(**PRESETS[name][1])
