"""Theorem 3 of EAGLE, and the condition for contraction of its Theorem 4, on drawn problems.

The one-step bound of Theorem 4 and Figure 1 are in ``tests/groups/test_embeddings.py``.
"""

from itertools import product

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

DRAWN = settings(max_examples=300, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def optimum(X):
    """The estimator of Eq. 2 for a label of all groups, X (n_groups, size, d): by trying all."""
    n_groups, size, _ = X.shape
    sums = [X[np.arange(n_groups), list(chosen)].sum(axis=0)
            for chosen in product(range(size), repeat=n_groups)]  # fmt: skip
    return unit(max(sums, key=lambda total: float(np.linalg.norm(total))))


@DRAWN
@given(SEEDS, st.integers(2, 6), st.integers(2, 3), st.floats(0, 0.25))
def test_theorem_3(seed, n_groups, size, noise):
    """<e*, e> >= 1 - r f - (sqrt(2) r + 2) f^2, r = 1 / (1 - q - 2 f / delta) - 1.

    f is over all sets of groups, single ones included. q is the overlap of the label's groups with
    those of another label, as in the proof.
    """
    rng = np.random.default_rng(seed)
    truth = unit(rng.standard_normal((4, 4)))
    label_of = rng.integers(1, 4, (n_groups, size))
    label_of[:, 0] = 0
    X = unit(truth[label_of] + noise * unit(rng.standard_normal((n_groups, size, 4))))
    f = np.linalg.norm(X - truth[label_of], axis=-1).max()
    delta = min(np.linalg.norm(truth[a] - truth[b]) for a in range(4) for b in range(a))
    q = max((label_of == label).any(axis=1).mean() for label in (1, 2, 3))
    share = 1 - q - 2 * f / delta
    assume(share > 0)
    r = 1 / share - 1
    assert truth[0] @ optimum(X) >= 1 - r * f - (np.sqrt(2) * r + 2) * f**2 - 1e-9


def step(rng, noise, far):
    """e* and e before and after a whole step; alpha and f of Theorem 4."""
    n_groups, size, d = rng.integers(1, 8), rng.integers(1, 4), rng.integers(2, 5)
    truth = unit(rng.standard_normal(d))
    X = unit(rng.standard_normal((n_groups, size, d)))
    X[:, 0] = unit(truth + noise * unit(rng.standard_normal((n_groups, d))))
    f = np.linalg.norm(X[:, 0] - truth, axis=1).max()
    e = unit(truth + far * unit(rng.standard_normal(d)))
    closest = (X @ e).argmax(axis=1)
    after = unit(X[np.arange(n_groups), closest].sum(axis=0))
    return truth @ e, truth @ after, float((closest == 0).mean()), f


def test_the_condition_for_contraction_is_not_sufficient_as_printed():
    """<e*, e> <= 1 - 2 ((1 - f/2) / alpha - 1)^2 holds, and yet some steps lead away from e*.

    Most do not. By the bound on one step, e comes nearer where u = |e* - e| has alpha u^2 / 2 >=
    (1 - alpha) u + f, and at the printed limit of u, 2 (1 - alpha - f/2) / alpha, it has not.
    """
    rng = np.random.default_rng(0)
    nearer, farther = {False: 0, True: 0}, {False: 0, True: 0}
    for _ in range(20_000):
        before, after, alpha, f = step(rng, rng.uniform(0, 0.5), rng.uniform(0, 2))
        root = (1 - f / 2) / alpha - 1 if alpha > 0 else np.inf
        if before <= 1 - 2 * root**2:
            (farther if after < before - 1e-6 else nearer)[root >= 0] += 1
    for sign in (False, True):  # of what is squared
        assert 0 < farther[sign] < 0.05 * nearer[sign]
