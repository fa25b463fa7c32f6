"""Generate labels for texts, and the probabilities they were generated with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from multitudes.config import Config, setting
from multitudes.seq2set.generation.beam_search import beam_search
from multitudes.seq2set.network.decoder import Decoded, Decoder
from multitudes.seq2set.network.label_output import fed_before, without
from multitudes.seq2set.network.seq_network import SeqNetwork
from multitudes.seq2set.words.batches import WordBatch

LOGITS_AT_ONCE = 1 << 25
STEPS_BETWEEN_CHECKS = {"cpu": 1, "cuda": 4}
"""How often it is checked whether all texts are done: on a GPU that waits for the device."""


@dataclass(frozen=True)
class DecodingConfig(Config):
    """How labels are generated; the defaults are the published way."""

    beam_width: int = setting(
        1, "Sequences kept per text; 1 is greedy: the likeliest symbol at each step.", at_least=1,
        at_most=1000,
    )  # fmt: skip
    no_repeat: bool = setting(False, "Generate no label twice.")
    stop_at: float | None = setting(
        None,
        "Stop where the empty label has this probability or more; None: always all steps. "
        "Sequences stop at their end symbol anyway.",
        above=0,
        at_most=1,
    )
    rank_by: str = setting(
        "best",
        "Score of a ranked label: its probability at the step where it is likeliest, or that of "
        "coming at any step, as if steps were independent.",
        choices=("best", "any"),
    )


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
    decoder = network.decoder
    top_k = min(top_k, decoder.empty)
    if config.beam_width > 1:
        memory = network.encode(words)
        labels = beam_search(
            decoder,
            memory,
            width=config.beam_width,
            no_repeat=config.no_repeat,
            ends=ends,
        )
        # Feeding the sequence that was found gives the states it was found with.
        decoded = network.decode(memory, labels)
        scores = _scores_of_all(decoder, decoded, top_k)
    else:
        steps = _StepScores(decoder, config.stop_at, ends=ends, top_k=top_k)
        decoded = network(words, no_repeat=config.no_repeat, on_step=steps)
        scores = steps.scores or _scores_of_all(decoder, decoded, top_k)
    return _generated(decoded.labels, scores, decoder.empty, config.stop_at, ends=ends)


class _Scores(NamedTuple):
    """Probabilities at some steps: (r,) and (r, k), or (b, t) and (b, t, k)."""

    own: Tensor  # of the symbol that was generated
    empty: Tensor  # of the empty label
    values: Tensor  # of the likeliest labels
    candidates: Tensor  # those labels


def _scores(logits: Tensor, labels: Tensor, *, empty: int, top_k: int) -> _Scores:
    """Of logits (r, n_symbols) and the symbols (r,) that were generated."""
    probabilities = torch.softmax(logits.float(), dim=1)
    own = probabilities.gather(1, labels[:, None])[:, 0]
    best = probabilities[:, :empty].topk(top_k, dim=1)
    return _Scores(own, probabilities[:, empty], best.values, best.indices)


class _StepScores:
    """Keeps the probabilities of each step, and says when all texts of a batch are done."""

    def __init__(self, decoder: Decoder, stop_at: float | None, *, ends: bool, top_k: int) -> None:
        self.decoder, self.stop_at, self.ends, self.top_k = decoder, stop_at, ends, top_k
        self.done: Tensor | None = None  # (b,)
        self.n_steps = 0
        self._steps: list[_Scores] = []

    @property
    def scores(self) -> _Scores | None:
        """Those of all steps; none where a step's logits were too many to be seen."""
        if not self._steps:
            return None
        return _Scores(*(torch.stack(parts, dim=1) for parts in zip(*self._steps, strict=True)))

    def __call__(self, labels: Tensor, hidden: Tensor, logits: Tensor | None) -> bool:
        """After a step: whether no text needs another."""
        empty = self.decoder.empty
        if logits is not None:
            self._steps.append(_scores(logits, labels, empty=empty, top_k=self.top_k))
        self.n_steps += 1
        if not self.ends and self.stop_at is None:
            return False
        now = labels == empty  # (b,)
        if not self.ends and self.stop_at is not None:
            now = now & (self._of_empty(hidden) >= self.stop_at)
        self.done = now if self.done is None else self.done | now
        every = STEPS_BETWEEN_CHECKS.get(labels.device.type, 1)
        return self.n_steps % every == 0 and bool(self.done.all())

    def _of_empty(self, hidden: Tensor) -> Tensor:
        """The probability (b,) of the empty label at the last step."""
        if self._steps:
            return self._steps[-1].empty
        return torch.softmax(self.decoder.output.logits(hidden).float(), 1)[:, self.decoder.empty]


def _scores_of_all(decoder: Decoder, decoded: Decoded, top_k: int) -> _Scores:
    """Probabilities of all steps, where they were not kept."""
    labels, states = decoded.labels, decoded.states.flatten(0, 1)  # (b, t), (b * t, w)
    banned = fed_before(labels, decoder.empty).flatten(0, 1) if decoder.masked_softmax else None
    # Many steps at once: each product reads all of the output layer's weights.
    at_once = max(1, LOGITS_AT_ONCE // len(decoder.output.weight))
    parts = []
    for first in range(0, len(states), at_once):
        rows = slice(first, first + at_once)
        logits = decoder.output.logits(states[rows])  # (r, n_symbols)
        if banned is not None:
            logits = without(logits, banned[rows], empty=decoder.empty)
        parts.append(_scores(logits, labels.flatten()[rows], empty=decoder.empty, top_k=top_k))
    joined = (torch.cat(part) for part in zip(*parts, strict=True))
    return _Scores(*(part.view(*labels.shape, *part.shape[1:]) for part in joined))


def _generated(
    labels: Tensor, scores: _Scores, empty: int, stop_at: float | None, *, ends: bool
) -> Generated:
    """Labels (b, t) and their probabilities, without what comes after a text's end."""
    over = _over(labels == empty, scores.empty, stop_at, ends=ends)  # (b, t)
    nothing = over | (labels == empty)
    return Generated(
        labels.masked_fill(nothing, -1),
        scores.own.masked_fill(nothing, 0.0),
        scores.candidates.masked_fill(over[:, :, None], -1),
        scores.values.masked_fill(over[:, :, None], 0.0),
    )


def _over(is_empty: Tensor, empty: Tensor, stop_at: float | None, *, ends: bool) -> Tensor:
    """Which steps (b, t) come after a text's end; whatever the batch, the same for each text."""
    last = is_empty
    if not ends:
        last = torch.zeros_like(is_empty) if stop_at is None else is_empty & (empty >= stop_at)
    before = last.cumsum(dim=1) - last.to(torch.int64)  # ends before this step
    return before > 0
