"""Tiny networks and texts for the tests."""

from __future__ import annotations

import numpy as np
import torch

from multitudes.deep.texts.tokens import TokenRows
from multitudes.seq2set.network.config import NetworkConfig
from multitudes.seq2set.network.seq_network import SeqNetwork
from multitudes.seq2set.words.batches import WordBatch, word_batch
from multitudes.seq2set.words.start_vectors import StartVectors

N_WORDS, N_LABELS, DIM = 30, 7, 6
SMALL = {"hidden": 8, "kernels": (2, 3), "strides": (1, 2), "dropout": 0.0}


def network(
    n_steps: int = 4, *, random_state: int = 0, scale: float = 8.0, **settings
) -> SeqNetwork:
    """A network with random weights, large enough that its choices vary from text to text."""
    rng = np.random.default_rng(random_state)
    start = StartVectors(
        rng.standard_normal((N_WORDS, DIM)).astype(np.float32),
        rng.standard_normal((N_LABELS, DIM)).astype(np.float32),
        0,
        0,
    )
    torch.manual_seed(random_state)
    made = SeqNetwork(start, n_steps=n_steps, config=NetworkConfig(**(SMALL | settings)))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter *= scale
    return made.eval()


def token_rows(lengths, *, random_state: int = 0) -> TokenRows:
    """Texts of random words."""
    rng = np.random.default_rng(random_state)
    ids = rng.integers(1, N_WORDS, sum(lengths))
    return TokenRows(ids, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def words(lengths=(9, 6, 3, 1), *, random_state: int = 0, round_up_to: int = 1) -> WordBatch:
    return word_batch(token_rows(lengths, random_state=random_state), round_up_to=round_up_to)
