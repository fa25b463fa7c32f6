"""OTSeq2Set: generating the label set (torch)."""

from multitudes.errors import require

for _package in ("torch", "accelerate"):  # before an import below trips over it
    require(_package, extra="deep")

from multitudes.seq2set.fitting import Seq2SetTraining  # noqa: E402
from multitudes.seq2set.generation.generate import DecodingConfig  # noqa: E402
from multitudes.seq2set.losses.config import SetLossConfig  # noqa: E402
from multitudes.seq2set.network.config import NetworkConfig  # noqa: E402
from multitudes.seq2set.otseq2set import OTSeq2Set  # noqa: E402
from multitudes.seq2set.presets import PRESETS, seq2set_preset  # noqa: E402
from multitudes.seq2set.words.batches import BatchConfig  # noqa: E402
from multitudes.seq2set.words.vocabulary import WordsConfig  # noqa: E402

__all__ = [
    "PRESETS",
    "BatchConfig",
    "DecodingConfig",
    "NetworkConfig",
    "OTSeq2Set",
    "Seq2SetTraining",
    "SetLossConfig",
    "WordsConfig",
    "seq2set_preset",
]
