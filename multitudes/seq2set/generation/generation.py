"""Generate labels for texts, and the probabilities they were generated with."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from multitudes.seq2set.generation.beam_search import beam_search
from multitudes.seq2set.generation.decoding_config import DecodingConfig
from multitudes.seq2set.network.decoder import Decoded, Decoder
from multitudes.seq2set.network.label_output import fed_before, without
from multitudes.seq2set.network.network import SeqNetwork
from multitudes.seq2set.words.word_batches import WordBatch

LOGITS_AT_ONCE = 1 << 25
STEPS_BETWEEN_LOOKS = {"cpu": 1, "cuda": 4}
"""Whether all texts are done is looked up so often: on a GPU a look waits for the device."""


@dataclass(frozen=True)
class Generated:
    """Symbols of each step, and the likeliest labels beside them.

    Parameters
    ----------
    labels : int64 (b, t)
        What was generated; -1 for the empty label, and behind the end.
    probabilities : float32 (b, t)
        Of each at its step; 0 beside -1.
    candidates : int64 (b, t, k)
        The k likeliest labels of each step, -1 for none.
    candidate_probabilities : float32 (b, t, k)
    """

    labels: Tensor
    probabilities: Tensor
    candidates: Tensor
    candidate_probabilities: Tensor


@torch.no_grad()
def generate(
    network: SeqNetwork,
    words: WordBatch,
    *,
    config: DecodingConfig,
    ends: bool,
    top_k: int = 1,
) -> Generated:
    """Generate labels for a batch of texts.

    Parameters
    ----------
    network : SeqNetwork
        In evaluation mode.
    words : WordBatch
    config : DecodingConfig
    ends : bool
        Whether the empty label ends a sequence; otherwise it is one of the steps' results.
    top_k : int
        Candidates to keep of each step.
    """
    if config.beam_width > 1:
        memory = network.encode(words)
        labels = beam_search(
            network.decoder,
            memory,
            width=config.beam_width,
            no_repeat=config.no_repeat,
            ends=ends,
        )
        # Feeding the sequence that was found gives the states it was found with.
        decoded = network.decode(memory, labels)
    else:
        look = _Done(network.decoder, config.stop_at, ends=ends)
        wanted = ends or config.stop_at is not None
        decoded = network(words, no_repeat=config.no_repeat, until=look if wanted else None)
    return _scored(network.decoder, decoded, config.stop_at, ends=ends, top_k=top_k)


class _Done:
    """Tells when all texts of a batch are done."""

    def __init__(self, decoder: Decoder, stop_at: float | None, *, ends: bool) -> None:
        self.decoder, self.stop_at, self.ends = decoder, stop_at, ends
        self.done: Tensor | None = None  # (b,)
        self.n_steps = 0

    def __call__(self, labels: Tensor, features: Tensor) -> bool:
        """After a step: whether no text needs another."""
        now = labels == self.decoder.empty  # (b,)
        if not self.ends and self.stop_at is not None:
            now = now & self._is_certain(now, features, self.stop_at)
        self.done = now if self.done is None else self.done | now
        self.n_steps += 1
        every = STEPS_BETWEEN_LOOKS.get(labels.device.type, 1)
        return self.n_steps % every == 0 and bool(self.done.all())

    def _is_certain(self, is_empty: Tensor, features: Tensor, stop_at: float) -> Tensor:
        """Whether the empty label is likely enough (b,); on a CPU only where it was chosen."""
        rows = slice(None) if features.is_cuda else is_empty
        logits = self.decoder.output.logits(self.decoder.output.hidden(features[rows])).float()
        certain = torch.zeros_like(is_empty)
        certain[rows] = torch.softmax(logits, dim=1)[:, self.decoder.empty] >= stop_at
        return certain


def _scored(
    decoder: Decoder, decoded: Decoded, stop_at: float | None, *, ends: bool, top_k: int
) -> Generated:
    """Probabilities of what was generated, and candidates."""
    labels, states = decoded.labels, decoded.states  # (b, t), (b, t, w)
    n, n_steps = labels.shape
    top_k = min(top_k, decoder.empty)
    own = torch.empty(n * n_steps, device=labels.device)  # by step of a text, as all below
    empty = torch.empty_like(own)
    values = torch.empty((n * n_steps, top_k), device=labels.device)
    candidates = torch.empty_like(values, dtype=torch.int64)
    banned = fed_before(labels, decoder.empty).flatten(0, 1) if decoder.masked_softmax else None
    # Many steps at once: each product reads all of the output layer's weights.
    at_once = max(1, LOGITS_AT_ONCE // len(decoder.output.weight))
    for first in range(0, n * n_steps, at_once):
        rows = slice(first, first + at_once)
        logits = decoder.output.logits(states.flatten(0, 1)[rows]).float()  # (r, n_symbols)
        if banned is not None:
            logits = without(logits, banned[rows], empty=decoder.empty)
        probabilities = torch.softmax(logits, dim=1)
        own[rows] = probabilities.gather(1, labels.flatten()[rows, None])[:, 0]
        empty[rows] = probabilities[:, decoder.empty]
        best = probabilities[:, : decoder.empty].topk(top_k, dim=1)
        values[rows], candidates[rows] = best.values, best.indices
    own, empty = own.view(n, n_steps), empty.view(n, n_steps)
    values, candidates = values.view(n, n_steps, top_k), candidates.view(n, n_steps, top_k)
    over = _over(labels == decoder.empty, empty, stop_at, ends=ends)  # (b, t)
    nothing = over | (labels == decoder.empty)
    candidates = candidates.masked_fill(over[:, :, None], -1)
    return Generated(
        labels.masked_fill(nothing, -1),
        own.masked_fill(nothing, 0.0),
        candidates,
        values.masked_fill(over[:, :, None], 0.0),
    )


def _over(is_empty: Tensor, empty: Tensor, stop_at: float | None, *, ends: bool) -> Tensor:
    """Which steps (b, t) come after a text's end; whatever the batch, the same for each text."""
    last = is_empty
    if not ends:
        last = torch.zeros_like(is_empty) if stop_at is None else is_empty & (empty >= stop_at)
    before = last.cumsum(dim=1) - last.to(torch.int64)  # ends before this step
    return before > 0
