"""Beam search: the likeliest sequences of symbols, several kept at a time."""

from __future__ import annotations

import torch
from torch import Tensor

from multitudes.seq2set.network.decoder import Decoder, StepState
from multitudes.seq2set.network.label_output import without
from multitudes.seq2set.network.text_encoder import Memory


@torch.no_grad()
def beam_search(
    decoder: Decoder, memory: Memory, *, width: int, no_repeat: bool, ends: bool
) -> Tensor:
    """The likeliest sequence (b, N) of those found.

    Parameters
    ----------
    decoder : Decoder
    memory : Memory of b texts
    width : int
        Sequences kept per text after each step.
    no_repeat : bool
        Whether sequences with a label twice are left out.
    ends : bool
        Whether the empty label ends a sequence. Where it does not, all N symbols count.
    """
    n = len(memory.state)
    wide = memory.repeated(width)  # (b * width, ...)
    keys = decoder.attention.keys(wide.values)
    now = decoder.first(wide.state)
    # One sequence per text at first: the others would be the same.
    scores = torch.full((n, width), -torch.inf, device=keys.device)  # (b, width)
    scores[:, 0] = 0
    fed = torch.empty((n * width, 0), dtype=torch.int64, device=keys.device)  # (b * width, t)
    for _ in range(decoder.n_steps):
        now, features = decoder.step(now, keys, wide.values, wide.bias)
        logits = decoder.output.logits(decoder.output.hidden(features)).float()
        log_probs = _log_probs(logits, fed, decoder, no_repeat=no_repeat, ends=ends)
        scores, parents, symbols = _best(scores, log_probs, width)  # (b, width) each
        rows = (torch.arange(n, device=keys.device)[:, None] * width + parents).flatten()
        expected = None
        if decoder.global_embedding is not None:
            expected = decoder.expected(features, fed if fed.shape[1] else None)[rows]
        now = StepState(now.hidden[rows], symbols.flatten(), expected)
        fed = torch.cat([fed[rows], symbols.flatten()[:, None]], dim=1)
    return fed.view(n, width, -1)[:, 0]  # the best comes first


def _log_probs(
    logits: Tensor, fed: Tensor, decoder: Decoder, *, no_repeat: bool, ends: bool
) -> Tensor:
    """Log-probabilities (r, n_symbols) of the next symbol, -inf where it may not follow."""
    if decoder.masked_softmax and fed.shape[1]:
        logits = without(logits, fed, empty=decoder.empty)
    log_probs = torch.log_softmax(logits, dim=1)
    if no_repeat and fed.shape[1]:
        log_probs = without(log_probs, fed, empty=decoder.empty)
    if ends and fed.shape[1]:
        over = fed[:, -1:] == decoder.empty  # (r, 1): only the empty label follows, for certain
        log_probs = log_probs.masked_fill(over, -torch.inf)
        at_end = torch.where(over[:, 0], 0.0, log_probs[:, decoder.empty])
        log_probs[:, decoder.empty] = at_end
    return log_probs


def _best(scores: Tensor, log_probs: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Scores, parents and symbols, (b, width) each, of the best continuations, best first."""
    n_symbols = log_probs.shape[1]
    each, symbols = log_probs.topk(min(width, n_symbols), dim=1)  # (b * width, c)
    total = (scores.flatten()[:, None] + each).view(len(scores), -1)  # (b, width * c)
    best, at = total.topk(width, dim=1)  # (b, width)
    n_each = each.shape[1]
    return best, at // n_each, symbols.view(len(scores), -1).gather(1, at)
