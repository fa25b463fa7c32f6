"""The text encoder: word vectors, a bidirectional GRU (Eq. 2 and 3), and its convolution."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from multitudes.seq2set.network.config import NetworkConfig
from multitudes.seq2set.network.light_conv import LightConv
from multitudes.seq2set.network.padded_gru import padded_gru
from multitudes.seq2set.words.batches import WordBatch
from multitudes.seq2set.words.vocabulary import PADDING


class Memory(NamedTuple):
    """What the decoder attends to: the words' hidden states, and the convolved ones behind them.

    Parameters
    ----------
    values : (b, m, 2 * hidden)
    bias : (b, n_memories, m)
        0 where a position belongs to a memory, -inf elsewhere and at padding.
    state : (b, hidden)
        The decoder's first state.
    """

    values: Tensor
    bias: Tensor
    state: Tensor

    def repeated(self, n: int) -> Memory:
        """Each text `n` times in a row, for beams."""
        return Memory(*(part.repeat_interleave(n, dim=0) for part in self))


class TextEncoder(nn.Module):
    """Reads texts from both directions.

    Parameters
    ----------
    word_vectors : tensor (n_ids, d)
        Where word embeddings start.
    config : NetworkConfig
    frozen : bool
        Whether word embeddings stay as they are.
    """

    def __init__(self, word_vectors: Tensor, config: NetworkConfig, *, frozen: bool) -> None:
        super().__init__()
        size = config.hidden
        n_ids, dim = word_vectors.shape
        self.words = nn.Embedding(
            n_ids, dim, padding_idx=PADDING, _weight=word_vectors, _freeze=frozen
        )
        self.gru = nn.GRU(
            dim,
            size,
            num_layers=config.layers,
            bidirectional=True,
            batch_first=True,
            dropout=config.dropout if config.layers > 1 else 0.0,
        )
        # A graph can only be captured of texts that are not packed.
        self.padded = config.compile == "graphs"
        self.first_state = nn.Linear(2 * size, size)
        self.dropout = nn.Dropout(config.dropout)
        self.convolution = None
        if config.convolution:
            self.convolution = LightConv(
                2 * size, kernels=config.kernels, strides=config.strides, heads=config.heads
            )

    def forward(self, batch: WordBatch) -> Memory:
        """Memory of a batch of texts, longest first."""
        words = self.dropout(self.words(batch.ids))  # (b, l, d)
        if self.padded and self.training:
            hidden, last = padded_gru(self.gru, words, batch.lengths)
        else:
            hidden, last = self._packed_gru(words, batch)
        state = torch.tanh(self.first_state(last))  # (b, hidden)
        masks = [_before(batch.lengths, hidden.shape[1])]
        values = [hidden]
        if self.convolution is not None:
            values.append(self.convolution(hidden))  # (b, k, 2 * hidden)
            masks.append(_before(self.convolution.n_outputs(batch.lengths), values[1].shape[1]))
        whole = torch.cat(values, dim=1) if len(values) > 1 else hidden  # (b, m, 2 * hidden)
        return Memory(whole, _bias(masks), state)

    def _packed_gru(self, words: Tensor, batch: WordBatch) -> tuple[Tensor, Tensor]:
        """Hidden states (b, l, 2 * hidden), 0 at padding, and at both ends (b, 2 * hidden)."""
        packed = pack_padded_sequence(words, batch.host_lengths, batch_first=True)
        packed, last = self.gru(packed)
        hidden, _ = pad_packed_sequence(packed, batch_first=True, total_length=words.shape[1])
        # The last layer's two directions, each at its own end of the text.
        return hidden, torch.cat([last[-2], last[-1]], dim=1)


def _before(lengths: Tensor, n: int) -> Tensor:
    """Mask (b, n) of the positions before each length."""
    return torch.arange(n, device=lengths.device) < lengths[:, None]


def _bias(masks: list[Tensor]) -> Tensor:
    """(b, n_memories, m): 0 at each memory's own positions, -inf elsewhere."""
    sizes = [mask.shape[1] for mask in masks]
    rows = [
        F.pad(mask, (sum(sizes[:i]), sum(sizes[i + 1 :])), value=False)  # (b, m)
        for i, mask in enumerate(masks)
    ]
    own = torch.stack(rows, dim=1)  # (b, n_memories, m)
    return own.log()  # of 1 and 0
