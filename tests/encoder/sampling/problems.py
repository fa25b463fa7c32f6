"""Small training sets for the samplers."""

import numpy as np
import scipy.sparse as sp

from tests.encoder.vectors import unit


def random_labels(n_instances=60, n_labels=40, *, random_state=0, density=0.08):
    """Y with some instances that have no label."""
    Y = sp.random_array((n_instances, n_labels), density=density, rng=random_state, format="csr")
    Y.data[:] = 1
    return sp.csr_array(Y.astype(np.float32))


def two_topics(n_instances=64, dim=8, *, random_state=0):
    """Unit embeddings float32 (n, dim) of two well-separated topics, odd and even rows."""
    rng = np.random.default_rng(random_state)
    H = 0.05 * rng.standard_normal((n_instances, dim))
    H[0::2, 0] += 1
    H[1::2, 1] += 1
    return unit(H)
