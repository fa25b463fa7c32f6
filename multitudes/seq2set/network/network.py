"""SeqNetwork: encoder and decoder together, and the loss of a training step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from multitudes.seq2set.network.decoder import Decoded, Decoder, Watch
from multitudes.seq2set.network.label_vectors import RANGE, StartVectors
from multitudes.seq2set.network.network_config import NetworkConfig
from multitudes.seq2set.network.text_encoder import Memory, TextEncoder
from multitudes.seq2set.network.unrolling import Unrolling
from multitudes.seq2set.words.word_batches import WordBatch
from multitudes.types import FloatArray


@dataclass(frozen=True)
class TrainingBatch:
    """Texts and their labels on a device.

    Parameters
    ----------
    words : WordBatch
    targets : int64 tensor (b, N)
        Labels in the order to learn, for sequences then the end symbol; -1 behind them.
    """

    words: WordBatch
    targets: Tensor


class SeqNetwork(nn.Module):
    """Texts in, a sequence of symbols out: labels, the empty label, -1 never.

    Parameters
    ----------
    start : StartVectors
        Embeddings before training.
    n_steps : int
        N, symbols to generate.
    config : NetworkConfig
    frozen_words : bool
        Whether word embeddings stay as they are.
    """

    no_decay = ("encoder.words", "decoder.labels")

    def __init__(
        self,
        start: StartVectors,
        *,
        n_steps: int,
        config: NetworkConfig,
        frozen_words: bool = False,
    ) -> None:
        super().__init__()
        self.config, self.n_labels = config, len(start.labels)
        words = torch.from_numpy(np.array(start.words))
        labels = torch.from_numpy(_with_special(start.labels))
        self.encoder = TextEncoder(words, config, frozen=frozen_words)
        self.decoder = Decoder(labels, n_steps=n_steps, config=config)
        self._initialize()
        self.unrolling = Unrolling(config.compile)

    @property
    def empty(self) -> int:
        """The symbol of no label, which also ends a sequence."""
        return self.decoder.empty

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.decoder.output.weight.device

    def _initialize(self) -> None:
        """Uniform weights, as in the released code; embeddings keep where they start."""
        for name, parameter in self.named_parameters():
            if not name.startswith(self.no_decay):
                nn.init.uniform_(parameter, -RANGE, RANGE)

    def encode(self, words: WordBatch) -> Memory:
        """What the decoder attends to."""
        memory: Memory = self.encoder(words)
        return memory

    def forward(
        self,
        words: WordBatch,
        targets: Tensor | None = None,
        *,
        no_repeat: bool = False,
        watch: Watch | None = None,
    ) -> Decoded:
        """Generate with targets (b, N) fed (teacher forcing), or the network's own choice."""
        memory = self.encode(words)
        if targets is not None:
            targets = torch.where(targets < 0, self.empty, targets)  # (b, N)
        return self.decode(memory, targets, no_repeat=no_repeat, watch=watch)

    def decode(
        self,
        memory: Memory,
        targets: Tensor | None = None,
        *,
        no_repeat: bool = False,
        watch: Watch | None = None,
    ) -> Decoded:
        """The decoder's steps; those of training are compiled if so set."""
        if self.training and watch is None and not no_repeat:
            return self.unrolling(self.decoder, memory, targets)
        return self.decoder.forward(*memory, targets, no_repeat=no_repeat, watch=watch)

    @property
    def label_embeddings(self) -> Tensor:
        """Embeddings (n_labels + 1, d) of labels and the empty label."""
        embeddings: Tensor = self.decoder.labels.weight[: self.decoder.start]
        return embeddings


def _with_special(labels: FloatArray) -> FloatArray:
    """Label vectors (n_labels + 2, d) with those of the empty label and the start symbol."""
    rng = np.random.default_rng(len(labels))
    special = rng.uniform(-RANGE, RANGE, (2, labels.shape[1]))
    return np.concatenate([labels, special.astype(np.float32)])
