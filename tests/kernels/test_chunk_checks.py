"""Checks of stored chunks against plain loops: random, empty, one-row, duplicate and tied input."""

import numpy as np
import pytest

from multitudes.kernels.checking import readonly
from multitudes.kernels.search import chunk_checks, graph_checks
from multitudes.kernels.search.chunk_checks import (
    CHILD_OUTSIDE,
    CHILDREN_FALL,
    FEATURE_OUTSIDE,
    FEATURES_FALL,
    SOUND,
)


def rows_by_loop(chunk_rows, row_feature, n_features):
    start, worst = 0, set()
    for n in chunk_rows:
        own = row_feature[start : start + n].tolist()
        start += n
        if any(not 0 <= feature < n_features for feature in own):
            worst.add(FEATURE_OUTSIDE)
        if own != sorted(set(own)):
            worst.add(FEATURES_FALL)
    return worst or {SOUND}


def entries_by_loop(chunk_rows, row_entries, entry_child, child_count):
    row, entry, worst = 0, 0, set()
    for cluster, n in enumerate(chunk_rows):
        for count in row_entries[row : row + n].tolist():
            own = entry_child[entry : entry + count].tolist()
            entry += count
            if any(child >= child_count[cluster] for child in own):
                worst.add(CHILD_OUTSIDE)
            if own != sorted(set(own)):
                worst.add(CHILDREN_FALL)
        row += n
    return worst or {SOUND}


def random_level(rng, n_clusters, *, dtypes=("uint8", "uint16")):
    chunk_rows = rng.integers(0, 4, n_clusters).astype(np.int32)
    row_feature = [np.sort(rng.choice(9, n, replace=False)) for n in chunk_rows]
    child_count = rng.integers(1, 6, n_clusters)
    row_entries, entry_child = [], []
    for cluster, n in enumerate(chunk_rows):
        for _ in range(n):
            own = np.sort(rng.choice(child_count[cluster], rng.integers(0, child_count[cluster])))
            own = np.unique(own)
            row_entries.append(len(own))
            entry_child.append(own)
    joined = np.concatenate(entry_child) if entry_child else np.zeros(0)
    return (
        chunk_rows,
        np.concatenate([*row_feature, np.zeros(0, int)]).astype(np.int32),
        np.array(row_entries, dtypes[0]),
        joined.astype(dtypes[1]),
        child_count.astype(np.int64),
    )


def found(level):
    chunk_rows, row_feature, row_entries, entry_child, child_count = map(readonly, level)
    in_rows, _ = chunk_checks.check_rows(chunk_rows, row_feature, 9)
    in_entries, _ = chunk_checks.check_entries(
        chunk_rows, row_entries, entry_child, child_count, 0, 0
    )
    return in_rows, in_entries


@pytest.mark.parametrize("dtypes", [("uint8", "uint16"), ("uint16", "uint8")])
def test_what_is_sound_passes_and_what_a_loop_refuses_is_refused(dtypes):
    rng = np.random.default_rng(0)
    for case in range(200):
        level = random_level(rng, case % 7, dtypes=dtypes)
        assert found(level) == (SOUND, SOUND)
        for place in (1, 3):  # features, children
            changed = [array.copy() for array in level]
            if len(changed[place]):
                changed[place][rng.integers(len(changed[place]))] = rng.integers(0, 12)
            in_rows, in_entries = found(changed)
            assert in_rows in rows_by_loop(changed[0], changed[1], 9)
            assert in_entries in entries_by_loop(changed[0], *changed[2:])


def test_a_negative_feature_and_equal_children_are_refused():
    one = np.ones(1, np.int32)
    two = np.array([2], np.uint8)
    assert chunk_checks.check_rows(readonly(one), readonly(-one), 9) == (FEATURE_OUTSIDE, 0)
    tied = readonly(np.array([3, 3], np.uint16))
    entries = (readonly(one), readonly(two), tied, readonly(np.array([9])), 0, 0)
    assert chunk_checks.check_entries(*entries)[0] == CHILDREN_FALL


def test_a_piece_of_a_level_starts_where_the_one_before_ends():
    level = random_level(np.random.default_rng(1), 20)
    chunk_rows, _, row_entries, entry_child, child_count = level
    for first in range(20):
        row = int(chunk_rows[:first].sum())
        entry = int(row_entries[:row].sum())
        piece = (readonly(chunk_rows[first:]), readonly(row_entries), readonly(entry_child))
        counts = readonly(child_count[first:])
        assert chunk_checks.check_entries(*piece, counts, row, entry)[0] == SOUND


def test_a_link_to_a_node_that_is_not_on_the_level_is_found():
    levels = np.array([2, 1, 2], np.int32)  # two links on the ground level, one above
    links = np.array([1, 2, 2, 0, -1, 0, 1, 0], np.int32)
    checked = graph_checks.first_loose_link
    assert checked(readonly(levels), readonly(links), 1) == graph_checks.SOUND
    links[2] = 1
    assert checked(readonly(levels), readonly(links), 1) == 0
    links[2], links[7] = -1, 1
    assert checked(readonly(levels), readonly(links), 1) == 2
