"""The pattern kernels against lists of lists."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitudes.kernels import patterns, reference_trees

N_COLUMNS = 9
ROWS = {
    "random": [[0, 3, 8], [1], [2, 5, 6, 7], [0, 8]],
    "no rows": [],
    "empty rows": [[], [], []],
    "one row": [[4]],
    "same rows": [[1, 2, 3]] * 4,
    "full": [list(range(N_COLUMNS))] * 2,
    "some empty": [[], [0, 1], [], [8], []],
}


def arrays(rows):
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return indptr, np.array([c for row in rows for c in row], np.int32)


def lists(indptr, indices):
    assert indptr[0] == 0
    assert indptr[-1] == len(indices)
    assert indices.dtype == np.int32
    return [indices[a:b].tolist() for a, b in pairwise(indptr)]


def transposed(rows, n_columns):
    out = np.empty(n_columns + 1, np.int64)
    return lists(out, patterns.transpose(*arrays(rows), n_columns, out))


def merged(a, b):
    out = np.empty(len(a) + 1, np.int64)
    return lists(out, patterns.merge_rows(*arrays(a), *arrays(b), out))


def raised(rows, parent):
    out = np.empty(len(rows) + 1, np.int64)
    return lists(out, patterns.raise_to_parents(*arrays(rows), np.array(parent, np.int32), out))


def spread(rows, slots_of):
    out = np.empty(len(rows) + 1, np.int64)
    start, slots = arrays(slots_of)
    return lists(out, patterns.spread_to_slots(*arrays(rows), start, slots, out))


@pytest.fixture(params=ROWS, ids=lambda name: name.replace(" ", "-"))
def rows(request):
    return ROWS[request.param]


@pytest.mark.parametrize(
    "slots_of",
    [
        [[c] for c in range(N_COLUMNS)],
        [[8 - c] for c in range(N_COLUMNS)],
        [[c, c + N_COLUMNS] for c in range(N_COLUMNS)],
        [[], [0, 2, 4], [], [1], [], [3], [5], [], [6, 7]],
    ],
    ids=["itself", "reversed", "two-each", "uneven"],
)
def test_spread_to_slots(rows, slots_of):
    assert spread(rows, slots_of) == reference_trees.spread_to_slots(rows, slots_of)


@pytest.mark.parametrize(
    "parent",
    [list(range(N_COLUMNS)), [0] * N_COLUMNS, [0, 0, 0, 1, 1, 3, 3, 3, 4]],
    ids=["each-its-own", "one-for-all", "some-share"],
)
def test_raise_to_parents(rows, parent):
    assert raised(rows, parent) == reference_trees.raise_to_parents(rows, parent)


def test_transpose(rows):
    assert transposed(rows, N_COLUMNS) == reference_trees.transpose(rows, N_COLUMNS)


def test_transpose_counts_a_repeated_column_twice():
    assert transposed([[1, 1], [0]], 2) == [[1], [0, 0]]


@pytest.mark.parametrize("shift", range(4))
def test_merge_rows(rows, shift):
    other = rows[shift:] + rows[:shift]
    assert merged(rows, other) == reference_trees.merge_rows(rows, other)


def sorted_rows(n_rows):
    row = st.sets(st.integers(0, N_COLUMNS - 1)).map(sorted)
    return st.lists(row, min_size=n_rows, max_size=n_rows)


@given(st.integers(0, 5).flatmap(lambda n: st.tuples(sorted_rows(n), sorted_rows(n))))
@settings(max_examples=50, deadline=None)
def test_any_pattern(pair):
    a, b = pair
    assert merged(a, b) == reference_trees.merge_rows(a, b)
    assert transposed(a, N_COLUMNS) == reference_trees.transpose(a, N_COLUMNS)
    assert transposed(transposed(a, N_COLUMNS), len(a)) == a
