"""The random baseline: as many copies, anywhere."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.disentangle import random_assignment
from multitudes.errors import ConfigError, DataError

from .problems import partition, sparse

CURRENT = partition(np.arange(300) % 20, 20)


def like(copies, n_clusters):
    """An assignment with the given numbers of copies."""
    return sparse([[1] * n + [0] * (n_clusters - n) for n in copies])


def assert_valid(found, copies):
    np.testing.assert_array_equal(np.diff(found.indptr), copies)
    assert found.has_canonical_format
    assert (found.data == 1).all()


def test_first_copies_stay_and_the_numbers_of_copies_are_kept():
    copies = np.random.default_rng(0).integers(1, 7, 300)
    found = random_assignment(CURRENT, like(copies, 20), random_state=0)
    assert_valid(found, copies)
    assert found.multiply(CURRENT).sum() == 300


def test_further_copies_are_uniform_over_the_other_clusters():
    n = 20_000
    current = partition(np.full(n, 2), 5)
    found = random_assignment(current, like(np.full(n, 2), 5), random_state=1)
    sizes = np.bincount(found.indices, minlength=5)
    assert sizes[2] == n
    others = sizes[[0, 1, 3, 4]]
    # Each is binomial (n, 1/4), with a standard deviation of 61.
    np.testing.assert_allclose(others, n / 4, atol=5 * np.sqrt(n * 3 / 16))


def test_a_label_may_be_in_every_cluster():
    found = random_assignment(partition([1, 0], 3), like([3, 3], 3), random_state=0)
    assert found.toarray().tolist() == [[1, 1, 1], [1, 1, 1]]


def test_a_cap_is_respected_and_costs_no_copy_where_there_is_room():
    copies = np.full(300, 2)
    found = random_assignment(CURRENT, like(copies, 20), random_state=0, max_cluster_size=32)
    assert_valid(found, copies)
    assert np.bincount(found.indices).max() <= 32
    assert found.multiply(CURRENT).sum() == 300


def test_a_cap_without_room_leaves_out_copies_not_labels():
    found = random_assignment(
        CURRENT, like(np.full(300, 3), 20), random_state=0, max_cluster_size=15
    )
    assert (found != CURRENT).nnz == 0


def test_the_seed_decides():
    copies = np.full(300, 2)
    first, again, other = (
        random_assignment(CURRENT, like(copies, 20), random_state=random_state)
        for random_state in (3, 3, 4)
    )
    assert (first != again).nnz == 0
    assert (first != other).nnz > 0


def test_bad_input_is_refused():
    with pytest.raises(DataError, match=r"like must be .* = \(300, 20\), got \(300, 19\)"):
        random_assignment(CURRENT, partition(np.arange(300) % 19, 19), random_state=0)
    with pytest.raises(DataError, match="labels of like are in no cluster"):
        random_assignment(CURRENT, sp.csr_array((300, 20)), random_state=0)
    with pytest.raises(ConfigError, match="random_state must be a whole number >= 0, got -1"):
        random_assignment(CURRENT, CURRENT, random_state=-1)
    with pytest.raises(ConfigError, match="room for 280 labels"):
        random_assignment(CURRENT, CURRENT, random_state=0, max_cluster_size=14)
