"""OTSeq2Set: generating the label set (torch)."""

from multitudes.seq2set.decoding_config import DecodingConfig
from multitudes.seq2set.loss_config import SetLossConfig
from multitudes.seq2set.network_config import NetworkConfig
from multitudes.seq2set.otseq2set import OTSeq2Set
from multitudes.seq2set.presets import PRESETS, seq2set_preset
from multitudes.seq2set.word_batches import BatchConfig
from multitudes.seq2set.words_config import WordsConfig

__all__ = [
    "PRESETS",
    "BatchConfig",
    "DecodingConfig",
    "NetworkConfig",
    "OTSeq2Set",
    "SetLossConfig",
    "WordsConfig",
    "seq2set_preset",
]
