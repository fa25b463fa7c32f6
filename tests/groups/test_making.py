import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.groups.making import clustered_groups, noisy_groups


@pytest.fixture(scope="module")
def blobs():
    """64 instances in 8 tight bundles of directions, eight each, shuffled; and their bundle."""
    rng = np.random.default_rng(0)
    bundle = rng.permutation(np.repeat(np.arange(8), 8))
    X = np.eye(8, 20)[bundle] * 5 + rng.normal(size=(64, 20)) * 0.05
    return sp.csr_array(X, dtype=np.float32), bundle


def group_of(groups):
    assert (np.diff(groups.indptr) == 1).all()
    return groups.indices


def agreement(groups, bundle):
    """Part of the pairs of one group that are of one bundle."""
    together = group_of(groups)[:, None] == group_of(groups)[None, :]
    alike = bundle[:, None] == bundle[None, :]
    pairs = ~np.eye(len(bundle), dtype=bool)
    return (together & alike & pairs).sum() / (together & pairs).sum()


def test_clustering_finds_the_bundles(blobs):
    X, bundle = blobs
    groups = clustered_groups(X, 3, random_state=0)
    assert groups.shape == (64, 8)
    assert (groups.sum(axis=0) == 8).all()
    assert agreement(groups, bundle) == 1


def test_dense_features_group_as_sparse_ones(blobs):
    X, _ = blobs
    assert (group_of(clustered_groups(X.toarray(), 3)) == group_of(clustered_groups(X, 3))).all()


@pytest.mark.parametrize("n", [8, 9, 13, 16, 17, 31])
def test_depth_gives_that_many_even_groups(n):
    X = np.random.default_rng(n).normal(size=(n, 5)).astype(np.float32)
    sizes = clustered_groups(X, 3, random_state=1).sum(axis=0)
    assert len(sizes) == 8
    assert sizes.max() - sizes.min() <= 1


def test_depth_0_is_one_group(blobs):
    assert clustered_groups(blobs[0], 0).shape == (64, 1)


def test_noise_leads_from_clustered_to_random(blobs):
    X, bundle = blobs
    none, half, full = (noisy_groups(X, 3, noise, random_state=3) for noise in (0.0, 0.5, 1.0))
    assert (group_of(none) == group_of(clustered_groups(X, 3, random_state=3))).all()
    assert (full.sum(axis=0) == 8).all()
    assert agreement(none, bundle) > agreement(half, bundle) > agreement(full, bundle)
    assert agreement(full, bundle) < 0.25  # 7 / 63 in the mean


def test_noisy_groups_follow_the_seed(blobs):
    first, again, other = (
        group_of(noisy_groups(blobs[0], 3, 0.5, random_state=s)) for s in (1, 1, 2)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_too_deep_is_refused(blobs):
    with pytest.raises(ConfigError, match="depth must be at most 6, .* 64 instances, got 7"):
        clustered_groups(blobs[0], 7)
    with pytest.raises(ConfigError, match="depth must be a whole number"):
        clustered_groups(blobs[0], 1.5)


@pytest.mark.parametrize("noise", [-0.1, 1.1, float("nan"), "half", True])
def test_noise_must_be_a_share(blobs, noise):
    with pytest.raises(ConfigError, match="noise must be a number from 0 to 1"):
        noisy_groups(blobs[0], 2, noise)


def test_bad_features_are_refused():
    with pytest.raises(DataError, match="no rows"):
        clustered_groups(np.zeros((0, 3), np.float32), 0)
    with pytest.raises(DataError, match="NaN"):
        clustered_groups(np.array([[1.0], [np.nan]]), 1)


def test_the_seed_is_0_unless_told_otherwise():
    X = np.random.default_rng(0).normal(size=(64, 5)).astype(np.float32)
    for make in (lambda **seed: clustered_groups(X, 3, **seed),
                 lambda **seed: noisy_groups(X, 3, 0.5, **seed)):  # fmt: skip
        default, first, second = make(), make(random_state=0), make(random_state=1)
        np.testing.assert_array_equal(default.indices, first.indices)
        assert (first.indices != second.indices).any()
