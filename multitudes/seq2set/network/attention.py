"""Additive attention over several memories with the same weights (Eq. 4 to 6)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SharedAttention(nn.Module):
    """``e_i = v . tanh(W s + U h_i)``, a softmax over each memory, and each memory's mean.

    Memories lie one after the other, so that one product serves all. The projection ``W s`` of the
    query belongs to the decoder, which computes it together with its gates.

    Parameters
    ----------
    memory_dim : int
        Width of memories.
    dim : int
        Width of keys and queries.
    """

    def __init__(self, memory_dim: int, dim: int) -> None:
        super().__init__()
        self.key = nn.Linear(memory_dim, dim, bias=False)
        self.energy = nn.Linear(dim, 1, bias=False)

    def keys(self, values: Tensor) -> Tensor:
        """``U h`` (b, m, dim) of memories (b, m, memory_dim): once per batch, not per step."""
        keys: Tensor = self.key(values)
        return keys

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
        """Context vectors, side by side.

        Parameters
        ----------
        query : (b, dim)
            ``W s``.
        keys : (b, m, dim)
        values : (b, m, memory_dim)
        bias : (b, n_memories, m)
            0 where a position belongs to a memory, -inf elsewhere and at padding.

        Returns
        -------
        Tensor (b, n_memories * memory_dim)
        """
        energy = self.energy(torch.tanh(query[:, None] + keys)).squeeze(2)  # (b, m)
        weights = torch.softmax(energy[:, None] + bias, dim=2)  # (b, n_memories, m)
        contexts = weights.to(values.dtype) @ values  # (b, n_memories, memory_dim)
        return contexts.flatten(1)  # (b, n_memories * memory_dim)
