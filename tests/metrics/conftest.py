"""A small case whose every metric is worked out by hand, and random ones."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.types import Predictions

TRUTH = [[0, 1], [2], [], [0, 3, 4]]
RANKED = [[0, 2, 1], [1, 2], [3], [4, 1, 3]]
WEIGHTS = np.array([1.0, 2.0, 4.0, 3.0, 5.0])


def as_csr(rows, n_labels, *, ranked=False):
    """Lists as CSR: ones, or scores that fall with the rank."""
    matrix = np.zeros((len(rows), n_labels), np.float32)
    for i, row in enumerate(rows):
        matrix[i, row] = np.arange(len(row), 0, -1) if ranked else 1
    return sp.csr_array(matrix)


@pytest.fixture
def case():
    """Four instances, five labels; one instance has no labels."""
    return SimpleNamespace(
        truth=TRUTH,
        ranked=RANKED,
        weights=WEIGHTS,
        Y=as_csr(TRUTH, 5),
        predictions=Predictions.from_lists(RANKED, None, 5),
    )


@pytest.fixture
def random_case():
    """A maker of random predictions and truth, with short rows and rows without labels."""

    def make(random_state, *, n=80, n_labels=15, width=6):
        rng = np.random.default_rng(random_state)

        def rows(longest):
            sizes = rng.integers(0, longest + 1, n)
            return [rng.permutation(n_labels)[:size].tolist() for size in sizes]

        ranked, other, truth = rows(width), rows(width), rows(5)
        return SimpleNamespace(
            predictions=Predictions.from_lists(ranked, None, n_labels),
            other=Predictions.from_lists(other, None, n_labels),
            Y=as_csr(truth, n_labels),
            weights=rng.uniform(1, 9, n_labels),
            rng=rng,
        )

    return make
