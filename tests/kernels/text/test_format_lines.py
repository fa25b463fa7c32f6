"""The line writer against its twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitudes.kernels.text.format_lines import format_lines
from tests.kernels.twins import text as reference

ids = st.lists(st.integers(0, 2**31 - 1), max_size=4)
texts = st.sampled_from(["1", "-0.5", "1e-7", "3.4028235e38"])
rows = st.lists(
    st.tuples(ids, st.lists(st.tuples(st.integers(0, 2**31 - 1), texts), max_size=4)), max_size=5
).map(lambda rows: [(labels, [f for f, _ in fs], [v for _, v in fs]) for labels, fs in rows])


def run_kernel(rows: list[tuple[list[int], list[int], list[str]]], offset: int = 0) -> bytes:
    def ends(lists: list[list[int]]) -> np.ndarray:
        return np.cumsum([offset, *map(len, lists)]).astype(np.int32)

    def flat(lists: list[list[int]]) -> np.ndarray:
        return np.array([x for one in lists for x in one], np.int32)

    labels, features, values = ([row[i] for row in rows] for i in range(3))
    text = "".join(f"{v}," for row in values for v in row).encode()
    size = len(text) + 12 * sum(map(len, labels + features)) + 2 * len(rows)
    out = np.zeros(size, np.uint8)
    n = format_lines(
        ends(features),
        flat(features),
        np.frombuffer(text, np.uint8),
        ends(labels),
        flat(labels),
        out,
    )
    return out[:n].tobytes()


@given(rows)
def test_lines_are_the_twins(rows) -> None:
    assert run_kernel(rows) == reference.format_lines(rows)


@pytest.mark.parametrize("offset", [0, 7])
def test_rows_may_be_cut_out_of_a_larger_matrix(offset: int) -> None:
    rows = [([10, 9], [0, 100], ["1", "2.5"]), ([], [], []), ([3], [], []), ([], [4], ["-1"])]
    assert run_kernel(rows, offset) == b"10,9 0:1 100:2.5\n\n3\n 4:-1\n"
