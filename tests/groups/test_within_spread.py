import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from multitudes.data.groups import memberships, random_groups
from multitudes.errors import ConfigError, DataError
from multitudes.groups.within_spread import WithinSpread, within_spread


def drawn(sigma_1, sigma_2, *, n_groups=400, size=5, n_features=8, random_state=0):
    """Instances as Theorem 1 draws them, and their groups."""
    rng = np.random.default_rng(random_state)
    group_of = rng.permutation(np.repeat(np.arange(n_groups), size))
    centers = sigma_1 * rng.normal(size=(n_groups, n_features))
    X = centers[group_of] + sigma_2 * rng.normal(size=(len(group_of), n_features))
    return X.astype(np.float32), memberships(group_of, n_groups)


@pytest.mark.parametrize("sigmas", [(1.0, 0.1), (1.0, 1.0), (1.0, 3.0), (0.5, 0.5)])
def test_both_sigmas_are_recovered(sigmas):
    spread = within_spread(*drawn(*sigmas))
    assert spread.sigma_1 == pytest.approx(sigmas[0], rel=0.1)
    assert spread.sigma_2 == pytest.approx(sigmas[1], rel=0.05)
    assert spread.share == pytest.approx(sigmas[1] ** 2 / sum(s**2 for s in sigmas), rel=0.1)


def test_a_common_offset_is_not_spread():
    X, groups = drawn(1.0, 1.0)
    assert within_spread(X + 100, groups).ratio == pytest.approx(1, rel=0.1)


def test_random_groups_have_all_spread_within():
    X, _ = drawn(1.0, 0.1)
    spread = within_spread(X, random_groups(len(X), 5, random_state=1))
    assert spread.share > 0.95
    assert spread.price == pytest.approx(math.sqrt(5), rel=0.05)


def test_equal_members_have_none():
    spread = within_spread(*drawn(1.0, 0.0))
    assert spread.sigma_2 == pytest.approx(0, abs=1e-3)
    assert spread.price == pytest.approx(1, abs=1e-3)


def test_uneven_and_empty_groups_and_instances_without_one():
    X, groups = drawn(1.0, 2.0, n_groups=600)
    kept = groups.indices % 7 != 0  # a seventh of the groups loses all members
    kept &= np.random.default_rng(0).random(len(kept)) < 0.6  # the others lose some
    thinned = sp.csr_array(groups.multiply(kept[:, None]))
    spread = within_spread(sp.csr_array(X), thinned)
    assert spread.n_instances == kept.sum()
    assert spread.sigma_1 == pytest.approx(1, rel=0.1)
    assert spread.sigma_2 == pytest.approx(2, rel=0.05)


@given(
    sigma_1=st.floats(0, 10), sigma_2=st.floats(0, 10), size=st.floats(1, 100)
)  # fmt: skip
def test_the_price_lies_between_1_and_the_root_of_the_size(sigma_1, sigma_2, size):
    price = WithinSpread(sigma_1, sigma_2, size, 1000, 10).price
    assert 1 - 1e-9 <= price <= math.sqrt(size) * (1 + 1e-9)


@given(
    sigma_1=st.floats(0.1, 10), sigma_2=st.floats(0.1, 10), size=st.integers(1, 50),
    noise=st.floats(0.01, 5), n=st.integers(100, 100_000),
)  # fmt: skip
def test_bounds_agree_with_the_price_and_fall_with_data(sigma_1, sigma_2, size, noise, n):
    spread, more = (WithinSpread(sigma_1, sigma_2, size, m, 10) for m in (n, 4 * n))
    bounds, better = spread.bounds(noise=noise), more.bounds(noise=noise)
    assert bounds.without_assignment / bounds.known_assignment == pytest.approx(spread.price)
    assert better.without_assignment == pytest.approx(bounds.without_assignment / 2)
    assert better.with_assignment < bounds.with_assignment
    # Hand-written forms of the proofs in appendix C.
    assert bounds.without_assignment == pytest.approx(
        math.sqrt(10 * noise**2 / (n * (sigma_1**2 + sigma_2**2 / size)))
    )


def test_without_noise_nothing_is_lost():
    bounds = WithinSpread(1.0, 1.0, 4, 100, 10).bounds(noise=0)
    assert bounds.with_assignment == 0


def test_bad_input():
    X, groups = drawn(1.0, 1.0, n_groups=3)
    with pytest.raises(DataError, match="X has 14 rows and groups has 15"):
        within_spread(X[:-1], groups)
    with pytest.raises(DataError, match="needs two groups, and one of two"):
        within_spread(X, sp.eye_array(15, format="csr"))
    with pytest.raises(DataError, match="needs two groups"):
        within_spread(X, sp.csr_array(np.ones((15, 1))))
    with pytest.raises(DataError, match="groups must hold 1"):
        within_spread(X, 2 * groups)
    with pytest.raises(ConfigError, match="noise must be a number >= 0"):
        within_spread(X, groups).bounds(noise=-1)
    with pytest.raises(DataError, match="same features"):
        within_spread(np.zeros((15, 2)), groups).bounds()


def test_equal_instances_have_neither_ratio_nor_share_and_cost_nothing():
    nothing, only_within = (WithinSpread(0.0, sigma_2, 4, 100, 10) for sigma_2 in (0.0, 1.0))
    assert math.isnan(nothing.ratio)
    assert math.isnan(nothing.share)
    assert nothing.price == 1
    assert only_within.ratio == math.inf
    assert only_within.price == 2
    assert WithinSpread(1.0, 3.0, 4, 100, 10).ratio == 3
