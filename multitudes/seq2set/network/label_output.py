"""The output layer: probabilities of labels and of the empty label (Eq. 9 and 10)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from multitudes.seq2set.network.label_softmax import OutputLayer

MAX_LABELS_AT_ONCE = 1 << 17
"""Labels whose logits are looked at together while generating: bounds the memory of a step."""


class LabelOutput(nn.Module):
    """One logit for each label and, last, for the empty label.

    Parameters
    ----------
    features : int
        Width z of what the decoder hands over.
    n_symbols : int
        Labels and the empty label.
    bottleneck : int, optional
        Width of a tanh layer before it (Eq. 10); without one Eq. 9.
    """

    def __init__(self, features: int, n_symbols: int, *, bottleneck: int | None) -> None:
        super().__init__()
        self.n_features = features
        self.narrow = None if bottleneck is None else nn.Linear(features, bottleneck)
        width = bottleneck or features
        self.weight = nn.Parameter(torch.empty(n_symbols, width))
        self.bias = nn.Parameter(torch.empty(n_symbols))

    @property
    def layer(self) -> OutputLayer:
        """The last layer, as the losses take it."""
        return OutputLayer(self.weight, self.bias)

    @property
    def fits_at_once(self) -> bool:
        """Whether all logits of a step may be looked at together."""
        return len(self.weight) <= MAX_LABELS_AT_ONCE

    def hidden(self, features: Tensor) -> Tensor:
        """What the last layer reads, (..., w): the features (..., z) or the bottleneck's."""
        return features if self.narrow is None else torch.tanh(self.narrow(features))

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits (..., n_symbols) of `hidden`."""
        return nn.functional.linear(hidden, self.weight, self.bias)

    @torch.no_grad()
    def best(self, hidden: Tensor, banned: Tensor | None = None) -> Tensor:
        """The likeliest symbol (b,) for hidden (b, w), the smaller id among equals.

        `banned` (b, n) are labels that may not be chosen; the empty label always may.
        """
        n_symbols = len(self.weight)
        best: tuple[Tensor, Tensor] | None = None
        for first in range(0, n_symbols, MAX_LABELS_AT_ONCE):
            logits = self._some_logits(hidden, first)  # (b, c)
            if banned is not None:
                logits = without(logits, banned, first=first, empty=n_symbols - 1)
            value, at = logits.max(dim=1)  # (b,), (b,)
            at = at + first
            if best is not None:
                better = value > best[0]
                value, at = torch.where(better, value, best[0]), torch.where(better, at, best[1])
            best = value, at
        assert best is not None
        return best[1]

    def _some_logits(self, hidden: Tensor, first: int) -> Tensor:
        """Logits (b, c) of the symbols from `first` on that are looked at together."""
        if self.fits_at_once:  # no slice: autocast keeps whole weights cast
            return self.logits(hidden)
        rows = slice(first, first + MAX_LABELS_AT_ONCE)
        return nn.functional.linear(hidden, self.weight[rows], self.bias[rows])


def without(logits: Tensor, banned: Tensor, *, empty: int, first: int = 0) -> Tensor:
    """Logits (b, c) of symbols `first` onwards, with -inf for `banned` (b, n) but never `empty`."""
    place = banned - first  # (b, n)
    here = (place >= 0) & (place < logits.shape[1]) & (banned != empty)
    # Adding leaves the others as they are, even where a row bans a symbol twice.
    penalty = torch.zeros(place.shape, dtype=logits.dtype, device=logits.device)
    penalty = penalty.masked_fill(here, -torch.inf)
    return logits.scatter_add(1, place.clamp(0, logits.shape[1] - 1), penalty)


def fed_before(targets: Tensor, empty: int) -> Tensor:
    """The labels (b, N, N) that came before each step, -1 for none; of targets (b, N)."""
    n_steps = targets.shape[1]
    earlier = torch.ones(n_steps, n_steps, device=targets.device).tril(-1).bool()  # (N, N)
    labels = torch.where(targets == empty, -1, targets)  # (b, N)
    return torch.where(earlier, labels[:, None], -1)  # (b, N, N)
