"""Slow, dense twins of the losses: every logit at once, one instance at a time."""

import numpy as np
import torch
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment


def random_targets(rng, n, width, n_labels, *, empty=0):
    """Different labels in no order, never `empty`; -1 behind them. Row 0 has none, row 1 all."""
    targets = np.full((n, width), -1)
    counts = rng.integers(0, width + 1, n)
    counts[:2] = [0, width][: len(counts)]
    others = np.delete(np.arange(n_labels), empty)
    for row, count in zip(targets, counts, strict=True):
        row[:count] = rng.choice(others, count, replace=False)
    return torch.from_numpy(targets)


def random_problem(
    random_state=0, *, n=5, n_steps=6, width=4, z=3, n_labels=9, d=4, dtype=torch.float64
):
    """States, weight, bias, embeddings and targets; the empty label is 0."""
    generator = torch.Generator().manual_seed(random_state)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    targets = random_targets(np.random.default_rng(random_state), n, width, n_labels)
    parts = draw(n, n_steps, z), draw(n_labels, z), draw(n_labels), draw(n_labels, d)
    return (*parts, targets)


def dense_matching_loss(log_probs, targets, *, scheme="all", empty=0, empty_weight=0.2):
    """Eq. 11 to 13 with scipy, instance by instance, from log-probabilities (b, N, V)."""
    total, weight = log_probs.new_zeros(()), 0.0
    for row, labels in zip(log_probs, targets, strict=True):
        labels = labels[labels >= 0]
        steps = len(labels) if scheme == "first-n" else len(row)
        gain = row.detach().exp()[:steps, labels].double().numpy()
        matched_steps, columns = linear_sum_assignment(gain, maximize=True)
        wanted = torch.full((len(row),), empty)
        wanted[matched_steps] = labels[columns]
        weights = torch.where(wanted == empty, empty_weight, 1.0)
        total = total - (weights * row[torch.arange(len(row)), wanted]).sum()
        weight += weights.sum()
    return total / weight


problems = st.builds(
    random_problem,
    st.integers(0, 10_000),
    n=st.integers(1, 4),
    n_steps=st.integers(3, 6),
    width=st.integers(1, 3),
)
