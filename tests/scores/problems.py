"""Predictions whose probabilities are known, and truths drawn from them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from multitudes.types import Predictions


def drawn(random_state: int, n: int = 400, width: int = 8, n_labels: int = 30, distort=lambda p: p):
    """(predictions, truth, probabilities): labels are true with the probabilities, independently.

    Scores are `distort` (rising) of the probabilities.
    """
    rng = np.random.default_rng(random_state)
    p = -np.sort(-(rng.random((n, width)) ** 2), axis=1)
    labels = np.array([rng.permutation(n_labels)[:width] for _ in range(n)], np.int32)
    is_true = rng.random((n, width)) < p
    rows, ranks = np.nonzero(is_true)
    truth = sp.csr_array(
        (np.ones(len(rows), np.float32), (rows, labels[rows, ranks])), shape=(n, n_labels)
    )
    return Predictions(labels, distort(p).astype(np.float32), n_labels), truth, p


def partly_labeled(random_state: int, n: int = 1000, width: int = 20, n_labels: int = 30):
    """(predictions, truth): a quarter of the instances have nothing but hopeless labels."""
    rng = np.random.default_rng(random_state)
    sizes = np.where(rng.random(n) < 0.25, 0, rng.integers(1, 4, n))
    p = np.where(np.arange(width) < sizes[:, None], 0.98, 0.002)
    labels = np.array([rng.permutation(n_labels)[:width] for _ in range(n)], np.int32)
    rows, ranks = np.nonzero(rng.random((n, width)) < p)
    truth = sp.csr_array(
        (np.ones(len(rows), np.float32), (rows, labels[rows, ranks])), shape=(n, n_labels)
    )
    return Predictions(labels, p.astype(np.float32), n_labels), truth


@st.composite
def small_problems(
    draw, max_instances=6, max_width=4, scores=(-2.0, -0.5, 0.0, 0.25, 0.7, 1.0, 3.0)
):
    """Predictions with ties and gaps at the end of rows, at least one label listed, and a truth."""
    n = draw(st.integers(1, max_instances))
    width = draw(st.integers(1, max_width))
    n_labels = draw(st.integers(width, 6))
    labels, values = [], []
    for i in range(n):
        size = draw(st.integers(1 if i == 0 else 0, width))
        labels.append(draw(st.permutations(range(n_labels)))[:size])
        values.append(sorted((draw(st.sampled_from(scores)) for _ in range(size)), reverse=True))
    truth = np.array(
        draw(
            st.lists(
                st.lists(st.booleans(), min_size=n_labels, max_size=n_labels),
                min_size=n,
                max_size=n,
            )
        ),
        np.float32,
    )
    return Predictions.from_lists(labels, values, n_labels), sp.csr_array(truth)
