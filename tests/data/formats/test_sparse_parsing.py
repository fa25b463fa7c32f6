"""Growing rows: exact values where the kernel gives up, and no second copy of the data."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multitudes.data.formats.sparse_parsing import SparseRows, grow, nearest_float32
from tests.kernels.twins import text as reference

LIMITS = np.array([1000, 1000, 0, 1, 1 << 40], np.int64)


@given(st.integers(-(10**25), 10**25), st.integers(-75, 13))
@example(16777217, 0)  # a tie: the even neighbor
@example(167772170000000000000000001, -19)  # just above a tie, where the nearest double is the tie
@example(167772169999999999999999999, -19)  # just below it
def test_nearest_float32_is_the_twins(mantissa: int, exponent: int) -> None:
    token = f"{mantissa}e{exponent}"
    assert nearest_float32(token) == reference.nearest_float32(token)


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("16777217", 16777216),
        ("16777217.0000000000000001", 16777218),
        ("-16777217.0000000000000001", -16777218),
        ("1e-45", 1.401298464324817e-45),
        ("1e-999999", 0.0),
        ("3.4028235e38", 3.4028234663852886e38),
    ],
)
def test_known_roundings(token: str, expected: float) -> None:
    assert float(nearest_float32(token)) == expected


def test_a_tiny_value_that_becomes_zero_is_not_stored() -> None:
    rows = SparseRows()
    rows.make_room(b"1 2:1e-60 3:4\n")
    rows.parse(b"1 2:1e-60 3:4\n", LIMITS)
    X, _ = rows.matrices(None, None)
    assert X.indices.tolist() == [3]


def test_growing_keeps_what_is_there() -> None:
    array = np.arange(4)
    grow(array, 9)
    assert array[:4].tolist() == [0, 1, 2, 3]
    assert array.size >= 9


def test_memory_stays_near_the_result() -> None:
    line = b"1,2 " + b" ".join(b"%d:0.%d" % (i, i + 1) for i in range(100)) + b"\n"
    block = line * 200
    rows = SparseRows()
    rows.make_room(block)
    rows.parse(block, LIMITS)  # compiled before the count begins
    tracemalloc.start()
    try:
        for _ in range(50):
            rows.make_room(block)
            rows.parse(block, LIMITS)
        X, _ = rows.matrices(None, None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert X.nnz == 51 * 200 * 100
    # From numpy 2.5 on, an array that grows counts twice for a moment: 1.5 would do without.
    assert peak < 1.75 * (X.data.nbytes + X.indices.nbytes) + 4 * len(block)
