"""Checks find the first thing that is wrong, whatever its type and place."""

import itertools

import numpy as np
import pytest

from multitudes.kernels.checking import (
    BLOCK,
    first_disorder,
    first_not_finite,
    first_outside,
    first_repeated,
    first_wrong_start,
    total_count,
)

WHOLE = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def first(wrong):
    """The slow twin: the first True."""
    return int(np.argmax(wrong)) if np.any(wrong) else -1


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize(("low", "high"), [(0, 100), (-1, 50), (3, 4), (0, 2**70), (5, 5), (-9, 0)])
def test_values_outside_limits(dtype, low, high):
    rng = np.random.default_rng(1)
    for size in (0, 1, 5, BLOCK, 3 * BLOCK + 7):
        values = rng.integers(0, 100, size).astype(dtype)
        twin = first([not low <= v < high for v in values.tolist()])
        assert first_outside(values, low, high) == twin
        if size:
            values[-1] = np.iinfo(dtype).min if low >= 0 else np.iinfo(dtype).max
            twin = first([not low <= v < high for v in values.tolist()])
            assert first_outside(values, low, high) == twin


def test_the_largest_whole_numbers_are_told_apart():
    values = np.array([0, 2**64 - 1, 2**63, 2**63 - 1], np.uint64)
    assert first_outside(values, 0, 2**64) == -1
    assert first_outside(values, 0, 2**63) == 1
    assert first_outside(values[2:], 0, 2**63) == 0
    assert first_outside(values[3:], 0, 2**63) == -1


def test_arrays_of_any_layout_are_read_in_c_order():
    grid = np.arange(12).reshape(3, 4)
    assert first_outside(grid, 0, 5) == 5
    assert first_outside(np.asfortranarray(grid), 0, 5) == 5
    assert first_outside(grid[:, ::2], 0, 5) == 3
    assert first_outside(grid.astype(">i4"), 0, 5) == 5
    assert first_outside(np.array([False, True]), 0, 1) == 1
    frozen = grid.copy()
    frozen.flags.writeable = False
    assert first_outside(frozen, 0, 5) == 5


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(dtype, value):
    for size in (1, 5, 3 * BLOCK + 7):
        values = np.linspace(-60000, 60000, size).astype(dtype)
        assert first_not_finite(values) == -1
        values[size // 2 :] = value
        assert first_not_finite(values) == size // 2
    assert first_not_finite(np.zeros(0, dtype)) == -1


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
def test_row_pointers(dtype):
    def found(*starts, n=3):
        return first_wrong_start(np.array(starts, dtype), n)

    assert found(0, 1, 1, 3) == -1
    assert found(0, n=0) == -1
    assert found(1, 1, 3) == 0
    assert found(0, 3, 2, 3) == 2
    assert found(0, 1, 2) == 2
    assert found(0, 1, 4) == 2
    assert first_wrong_start(np.zeros(0, dtype), 0) == 0


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.float32])
def test_order_within_rows(strict, dtype):
    rng = np.random.default_rng(2)
    for _ in range(50):
        counts = rng.integers(0, 5, rng.integers(0, 6))
        starts = np.append(0, np.cumsum(counts)).astype(np.int32)
        values = rng.integers(0, 30, starts[-1]).astype(dtype)
        if rng.random() < 0.5:
            for a, b in itertools.pairwise(starts):
                values[a:b] = np.sort(values[a:b])
        wrong = np.zeros(len(values), bool)
        for a, b in itertools.pairwise(starts):
            row = values[a:b]
            wrong[a + 1 : b] = row[1:] <= row[:-1] if strict else row[1:] < row[:-1]
        assert first_disorder(starts, values, strict) == first(wrong)


def test_counts_add_up_or_are_refused():
    assert total_count(np.array([2, 0, 3], np.int32), 5) == 5
    assert total_count(np.zeros(0, np.int64), 0) == 0
    assert total_count(np.array([2, 0, 4], np.int32), 5) == -1
    assert total_count(np.array([3, -1], np.int64), 5) == -1
    assert total_count(np.array([2**62] * 4, np.int64), 2**63 - 1) == -1
    assert total_count(np.array([2**64 - 1, 2], np.uint64), 5) == -1


def test_values_that_came_before():
    assert first_repeated(np.array([3, 1, 0], np.int32), np.zeros(4, np.bool_)) == -1
    assert first_repeated(np.array([3, 1, 3, 1], np.int32), np.zeros(4, np.bool_)) == 2
