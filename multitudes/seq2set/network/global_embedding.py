"""SGM's global embedding: the last label, mixed with all that were likely beside it."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class GlobalEmbedding(nn.Module):
    """``(1 - h) * e + h * e'`` with ``h = sigmoid(W e + W' e')``, per dimension.

    e is the embedding of the label that is fed, e' the expected embedding under the distribution
    it was chosen from (Yang et al., SGM, 2018, Eq. 13 to 15).

    Parameters
    ----------
    dim : int
        Width of label embeddings.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.gate = nn.Linear(2 * dim, dim)

    def forward(self, label: Tensor, expected: Tensor) -> Tensor:
        """The mix (b, dim) of both (b, dim)."""
        both = torch.cat([label.to(expected.dtype), expected], dim=1)  # (b, 2 * dim)
        share = torch.sigmoid(self.gate(both)).to(label.dtype)  # (b, dim)
        return torch.lerp(label, expected.to(label.dtype), share)
