"""Batches of similarities for the tests of the losses."""

import torch
from hypothesis import strategies as st

FLAT = {"softmax_weights": False}
"""Settings of a loss whose gradient is that of its equation."""


def random_batch(
    random_state, *, rows=6, columns=9, n_positives=2, known_rate=0.3, dtype=torch.float64
):
    """Similarity (r, c), drawn positives (r, p) with -1 for absent, known (r, c)."""
    generator = torch.Generator().manual_seed(random_state)
    similarity = torch.rand(rows, columns, generator=generator, dtype=dtype) * 2 - 1
    known = torch.rand(rows, columns, generator=generator) < known_rate
    positives = torch.full((rows, n_positives), -1)
    for row in range(rows):
        drawn = known[row].nonzero()[:n_positives, 0]
        positives[row, : len(drawn)] = drawn
    return similarity, positives, known


batches = st.builds(
    random_batch,
    st.integers(0, 10_000),
    rows=st.integers(1, 6),
    columns=st.integers(1, 9),
    n_positives=st.integers(1, 3),
    known_rate=st.sampled_from([0.0, 0.2, 0.5, 1.0]),
)


def gradient(loss, similarity):
    """The gradient of a loss of one argument, zeros where it has none."""
    leaf = similarity.clone().requires_grad_()
    loss(leaf).backward()
    return leaf.grad
