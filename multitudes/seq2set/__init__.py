"""OTSeq2Set: generating the label set (torch)."""

import multitudes.deep  # noqa: F401  before torch
from multitudes.errors import require

for _package in ("torch", "accelerate"):  # before an import below trips over it
    require(_package, extra="deep")

from multitudes.seq2set.fitting import Seq2SetTraining  # noqa: E402
from multitudes.seq2set.generation.generate import DecodingConfig  # noqa: E402
from multitudes.seq2set.losses import set_generation_loss  # noqa: E402
from multitudes.seq2set.losses.assignment_schemes import choose_scheme  # noqa: E402
from multitudes.seq2set.losses.config import SetLossConfig  # noqa: E402
from multitudes.seq2set.losses.step_matching import Matcher  # noqa: E402
from multitudes.seq2set.network.config import NetworkConfig  # noqa: E402
from multitudes.seq2set.network.label_softmax import OutputLayer  # noqa: E402
from multitudes.seq2set.otseq2set import OTSeq2Set  # noqa: E402
from multitudes.seq2set.presets import PRESETS, seq2set_preset  # noqa: E402
from multitudes.seq2set.words.batches import BatchConfig  # noqa: E402
from multitudes.seq2set.words.vocabulary import WordsConfig  # noqa: E402

__all__ = [
    "PRESETS",
    "BatchConfig",
    "DecodingConfig",
    "Matcher",
    "NetworkConfig",
    "OTSeq2Set",
    "OutputLayer",
    "Seq2SetTraining",
    "SetLossConfig",
    "WordsConfig",
    "choose_scheme",
    "seq2set_preset",
    "set_generation_loss",
]
