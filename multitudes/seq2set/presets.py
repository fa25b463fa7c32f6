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

# Settings of OTSeq2Set that differ from its defaults; docs/seq2set.md says what each preset is.
PRESETS: dict[str, dict[str, Any]] = {
    "otseq2set": {},
    "bm": {"network": _PLAIN, "loss": _MATCHING},
    "bm+lc": {"loss": _MATCHING},
    "bm+ot": {"network": _PLAIN},
    "bm+ot+lc": {},
    "seq2seq": {**_SEQUENCE, "network": _PLAIN},
    "seq2seq+lc": {**_SEQUENCE, "network": _CONVOLVED},
    "mlc2seq": {**_FREQUENT, "network": _PLAIN},
    "mlc2seq+lc": {**_FREQUENT, "network": _CONVOLVED},
    "sgm": {**_FREQUENT, "network": _SGM},
    "sgm+lc": {**_FREQUENT, "network": _SGM_CONVOLVED},
}
"""What each preset is, and its settings of `OTSeq2Set`, by name."""


def seq2set_preset(name: str) -> OTSeq2Set:
    """A new, unfitted OTSeq2Set with the settings of a preset."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}: {suggestion(name, PRESETS)}")
    return OTSeq2Set(**PRESETS[name])
