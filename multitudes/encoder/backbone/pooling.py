"""From the states of a text's tokens to one embedding."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from multitudes.deep.texts.tokens import PackedTokens


def pooled(states: torch.Tensor, tokens: PackedTokens, how: str) -> torch.Tensor:
    """L2-normalized float32 embeddings (n_texts, d) of token states (n_tokens, d).

    ``"mean"`` averages a text's tokens, special ones included; ``"cls"`` takes its first.
    """
    if how == "cls":
        vectors = states[tokens.offsets[:-1].long()].float()  # (n_texts, d)
    else:
        vectors = _means(states, tokens)
    return F.normalize(vectors, dim=1)


def _means(states: torch.Tensor, tokens: PackedTokens) -> torch.Tensor:
    """Float32 means (n_texts, d) of each text's token states."""
    n_texts = len(tokens)
    # Filling adds up in a row of its own, the last, which is dropped.
    sums = states.new_zeros((n_texts + 1, states.shape[1]), dtype=torch.float32)
    sums = sums.index_add(0, tokens.texts, states.float())[:n_texts]  # (n_texts, d)
    return sums / tokens.offsets.diff().unsqueeze(1)
