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


def test_the_empty_label_weighs_no_more_than_another():
    assert SetLossConfig(empty_weight=1.0).empty_weight == 1.0
    with pytest.raises(ConfigError, match="empty_weight"):
        SetLossConfig(empty_weight=1.5)
