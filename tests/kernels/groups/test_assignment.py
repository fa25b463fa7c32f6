"""Who gets a label, against slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitudes.kernels.groups.assignment import (
    choose_members,
    count_places,
    place_scores,
    share_out,
)
from tests.kernels.twins import groups as reference

# Groups of 3, 0, 1 and 4 members; an instance is in two of them.
GROUPS = [[2, 5, 7], [], [5], [0, 1, 3, 9]]
INDPTR = np.array([0, 3, 3, 4, 8])
MEMBERS = np.array([2, 5, 7, 5, 0, 1, 3, 9], np.int32)

few_values = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 0.5000001, 1.0])


@given(
    st.lists(st.integers(0, 3), max_size=6),
    st.integers(0, 6),
    st.data(),
    st.sampled_from([0.0, 0.3, 10.0]),
)
def test_choosing_equals_its_twin(pairs, cut, data, slack):
    """Two labels, one with the pairs before the cut and one with those after it."""
    sizes = [len(GROUPS[g]) for g in pairs]
    n, cut = sum(sizes), min(cut, len(pairs))
    score = np.array(data.draw(st.lists(few_values, min_size=n, max_size=n)), np.float32)
    wanted = data.draw(st.lists(st.integers(1, 5), min_size=len(pairs), max_size=len(pairs)))
    chosen, counts = np.empty(n, np.int32), np.empty(2, np.int64)
    gap = np.empty(len(pairs), np.float32)
    total = choose_members(
        INDPTR, MEMBERS, np.array([0, cut, len(pairs)]), np.array(pairs, np.int32),
        np.array(wanted, np.int32), slack, score, np.empty(4, bool), chosen, counts, gap,
    )  # fmt: skip
    expected, gaps, at = [], [], 0
    for group, size, want in zip(pairs, sizes, wanted, strict=True):
        places, distance = reference.choose(score[at : at + size], want, slack)
        expected.append([GROUPS[group][place] for place in places])
        gaps.append(distance)
        at += size
    assert chosen[:total].tolist() == [i for one in expected for i in one]
    assert counts.tolist() == [sum(map(len, part)) for part in (expected[:cut], expected[cut:])]
    np.testing.assert_array_equal(gap, np.array(gaps, np.float32))


def test_one_member_each_where_nothing_else_is_wanted():
    score = np.array([0, 2, 1, 5, 4, 3, 2, 1], np.float32)
    chosen, counts, gap = np.empty(8, np.int32), np.empty(1, np.int64), np.empty(4, np.float32)
    n = choose_members(
        INDPTR, MEMBERS, np.array([0, 4]), np.arange(4, dtype=np.int32), np.zeros(0, np.int32),
        0.0, score, np.empty(4, bool), chosen, counts, gap,
    )  # fmt: skip
    assert chosen[:n].tolist() == [5, 5, 0]
    assert counts.tolist() == [3]
    np.testing.assert_array_equal(gap, np.float32([1, np.inf, np.inf, 1]))


def test_places_are_the_members_of_a_labels_groups():
    first = np.empty(4, np.int64)
    count_places(INDPTR, np.array([0, 2, 2, 5]), np.array([0, 3, 1, 2, 0], np.int32), first)
    assert first.tolist() == [0, 7, 7, 11]


@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_sharing_equals_its_twin(temperature):
    pairs = np.array([3, 1, 0, 2], np.int32)
    score = np.random.default_rng(0).standard_normal(8).astype(np.float32)
    share = np.empty(8, np.float32)
    share_out(INDPTR, pairs, temperature, score, share)
    parts = [reference.share(score[a:b], temperature) for a, b in ((0, 4), (4, 7), (7, 8))]
    np.testing.assert_allclose(share, np.concatenate(parts), rtol=1e-5)


def test_sharing_survives_scores_that_are_far_apart():
    share = np.empty(3, np.float32)
    score = np.array([-1e4, 0, 1e4], np.float32)
    share_out(INDPTR, np.array([0], np.int32), 1e-3, score, share)
    assert share.tolist() == [0, 0, 1]


def test_scores_of_places_equal_their_twin():
    """Label 0 is in groups 0 and 2, label 1 in none, label 2 in groups 0, 1 and 3."""
    label_indptr = np.array([0, 2, 2, 5])
    label_groups = np.array([0, 2, 0, 1, 3], np.int32)
    scored_indptr = np.array([0, 3, 3, 10])
    scored = np.array([2, 5, 7, 0, 1, 2, 3, 5, 7, 9], np.int32)
    value = np.array([1, 2, 3, np.nan, 4, np.nan, np.nan, np.nan, np.nan, 5], np.float32)
    before = -np.arange(11, dtype=np.float32)
    score = before.copy()
    place_scores(
        INDPTR, MEMBERS, label_indptr, label_groups, scored_indptr, scored, value,
        np.empty(10, np.float32), score,
    )  # fmt: skip
    expected, at = [], 0
    for label in range(3):
        part = slice(scored_indptr[label], scored_indptr[label + 1])
        known = {
            int(i): float(v)
            for i, v in zip(scored[part], value[part], strict=True)
            if not np.isnan(v)
        }
        for group in label_groups[label_indptr[label] : label_indptr[label + 1]]:
            members = GROUPS[group]
            expected.append(reference.place_scores(members, known, before[at : at + len(members)]))
            at += len(members)
    np.testing.assert_array_equal(score, np.concatenate(expected))
    assert score[4:7].tolist() == before[4:7].tolist()  # nothing is known of label 2 in group 0
