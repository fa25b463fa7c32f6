"""Means of packed tokens, whose gradient takes fewer passes over memory than autograd's own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function


def token_means(states: Tensor, texts: Tensor, offsets: Tensor) -> Tensor:
    """Float32 means (n_texts, d) of each text's states (n_tokens, d); see `PackedTokens`.

    Tokens are added in order on any device, and the gradient is written once, in the states' type.
    """
    means: Tensor = _TokenMeans.apply(states, texts, offsets)  # type: ignore[no-untyped-call]
    return means


class _TokenMeans(Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, texts: Tensor, offsets: Tensor) -> Tensor:
        lengths = offsets.diff().unsqueeze(1)  # (n_texts, 1)
        ctx.save_for_backward(texts, lengths)
        ctx.kind = states.dtype
        # Unsafe: not checked, which would wait for the device.
        sums = torch.segment_reduce(states.float(), "sum", offsets=offsets, unsafe=True)
        return sums / lengths  # (n_texts, d)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        texts, lengths = ctx.saved_tensors
        of_token = (grads[0] / lengths).to(ctx.kind)  # (n_texts, d)
        # Filling belongs to a text of its own, the last.
        of_token = torch.nn.functional.pad(of_token, (0, 0, 0, 1))
        return of_token.index_select(0, texts), None, None
