import re

import numpy as np
import pytest

from multitudes.errors import ConfigError, DataError
from multitudes.seq2set.losses.assignment_schemes import choose_scheme
from multitudes.seq2set.losses.config import SetLossConfig


@pytest.mark.parametrize(
    ("counts", "scheme"),
    [
        ([1, 1, 1, 1, 6], "first-n"),  # a few have many, as in AmazonCat-13K: 20% above
        ([7, 7, 7, 6, 1], "all"),  # most are near the most, as in Amazon-670K: 80% above
        ([1, 3], "all"),  # half and half, as in Eurlex-4K
        ([1] * 50 + [3] * 49 + [20], "first-n"),  # the same, but most steps are empty for most
        ([1] * 56 + [3] * 43 + [20], "first-n"),
        ([1] * 44 + [3] * 55 + [20], "all"),
        ([1] * 45 + [3] * 54 + [20], "first-n"),  # 55% above is still about half
        ([1] * 55 + [2] * 45, "all"),  # and so is 45%
        ([0] * 7 + [1] * 3 + [3] * 9 + [10], "all"),  # an average of exactly a fifth of the most
        ([2, 2, 2], "first-n"),  # nobody is above
        ([0, 0, 5], "first-n"),
    ],
)
def test_auto_goes_by_the_share_of_instances_above_the_average(counts, scheme):
    choice = choose_scheme(np.array(counts))
    assert choice.scheme == scheme
    assert f"{np.mean(np.array(counts) > np.mean(counts)):.1%}" in choice.reason
    assert f"average of {np.mean(counts):.2f}" in choice.reason
    assert f"assignment scheme {scheme!r}" in choice.reason


def test_where_shares_are_nearly_equal_the_reason_tells_what_decided():
    assert (
        "less than 20% of the largest number, 20" in choose_scheme([1] * 9 + [3] * 9 + [20]).reason
    )
    assert "not less than 20% of the largest number, 3" in choose_scheme([1, 3]).reason


@pytest.mark.parametrize("scheme", ["all", "first-n"])
def test_a_scheme_that_was_set_stays(scheme):
    choice = choose_scheme([], scheme=scheme)
    assert choice.scheme == scheme
    assert "as set" in choice.reason


def test_unknown_schemes_and_missing_counts_are_refused():
    with pytest.raises(ConfigError, match="'first'"):
        choose_scheme([1], scheme="first")
    with pytest.raises(DataError, match="at least one instance"):
        choose_scheme([])


@pytest.mark.parametrize(
    ("counts", "got"),
    [
        (np.ones((2, 3)), "float64 of shape (2, 3)"),
        (["a"], "<U1 of shape (1,)"),
        ([[1], [1, 2]], "something else"),
    ],
)
def test_what_is_no_list_of_numbers_is_named(counts, got):
    with pytest.raises(DataError, match=re.escape(f"one number per training instance, got {got}")):
        choose_scheme(counts)


def test_defaults_are_those_of_the_paper():
    config = SetLossConfig()
    assert (config.scheme, config.empty_weight, config.transport_weight) == ("auto", 0.2, 8.0)
    solver = config.transport_beta, config.transport_steps, config.transport_inner_steps
    assert solver == (1.0, 50, 1)
    assert config.labels_at_once is None
    assert SetLossConfig(scheme="all").scheme == "all"
    with pytest.raises(ConfigError, match="scheme must be one of"):
        SetLossConfig(scheme="first")


@pytest.mark.parametrize(
    ("name", "least", "too_small"),
    [
        ("transport_weight", 0.0, -0.1), ("transport_steps", 1, 0), ("labels_at_once", 1, 0),
        ("transport_inner_steps", 1, 0), ("transport_beta", 1e-6, 0.0),
        ("empty_weight", 1e-6, 0.0),
    ],
)  # fmt: skip
def test_the_smallest_numbers_that_make_sense(name, least, too_small):
    assert getattr(SetLossConfig(**{name: least}), name) == least
    with pytest.raises(ConfigError, match=name):
        SetLossConfig(**{name: too_small})


def test_the_empty_label_weighs_no_more_than_another():
    assert SetLossConfig(empty_weight=1.0).empty_weight == 1.0
    with pytest.raises(ConfigError, match="empty_weight"):
        SetLossConfig(empty_weight=1.5)
