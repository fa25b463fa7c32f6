"""Attention against Eq. 4 to 6 written out."""

import numpy as np
import torch

from multitudes.seq2set.network.attention import SharedAttention


def test_each_memory_has_its_own_softmax_and_all_share_weights():
    torch.manual_seed(0)
    attention = SharedAttention(5, 3).double()
    memories = [torch.randn(4, 5, dtype=torch.float64), torch.randn(2, 5, dtype=torch.float64)]
    query = torch.randn(1, 3, dtype=torch.float64)
    values = torch.cat(memories)[None]
    bias = torch.full((1, 2, 6), -torch.inf)
    bias[0, 0, :3] = 0  # the fourth position of the first memory is padding
    bias[0, 1, 4:] = 0
    found = attention(query, attention.keys(values), values, bias)[0].detach().numpy()
    matrix = attention.key.weight.detach().numpy()
    v = attention.energy.weight.detach().numpy()[0]
    expected = []
    for memory in (memories[0][:3].numpy(), memories[1].numpy()):
        energies = np.array([v @ np.tanh(query[0].numpy() + matrix @ h) for h in memory])
        weights = np.exp(energies) / np.exp(energies).sum()
        expected.append(sum(w * h for w, h in zip(weights, memory, strict=True)))
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-12)
