"""The line parser against its twin: rows, values to the last bit, and where it stops."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multitudes.kernels.text import sparse_text as kernel
from tests.kernels.twins import text as reference

LIMITS = [50, 9, 0, 1, 1 << 20]


def run_kernel(block: bytes, limits: list[int]) -> tuple[int, list[reference.ParsedRow], bytes]:
    """(status, rows, offending token); odd values are resolved as the caller of a kernel would."""
    data = np.frombuffer(block, np.uint8)
    lines, commas, colons = kernel.count_marks(data)
    feature_ends, label_ends = np.zeros((2, lines + 1), np.int64)
    feature_ids, values = np.empty(colons, np.int32), np.empty(colons, np.float32)
    label_ids, odd = np.empty(commas + lines, np.int32), np.empty((colons, 3), np.int64)
    cursor = np.zeros(kernel.CURSOR_SLOTS, np.int64)
    status = kernel.parse_lines(
        data,
        np.array(limits, np.int64),
        feature_ends,
        label_ends,
        feature_ids,
        values,
        label_ids,
        odd,
        cursor,
    )
    for entry, start, end in odd[: cursor[kernel.ODD]]:
        values[entry] = reference.nearest_float32(block[start:end].decode())
    rows = []
    for r in range(cursor[kernel.ROWS]):
        f, g = slice(*feature_ends[r : r + 2]), slice(*label_ends[r : r + 2])
        kept = values[f] != 0
        rows.append(
            (label_ids[g].tolist(), feature_ids[f][kept].tolist(), values[f][kept].tolist())
        )
    return status, rows, block[cursor[kernel.TOKEN_START] : cursor[kernel.TOKEN_END]]


def run_twin(block: bytes, limits: list[int]) -> tuple[int, list[reference.ParsedRow], bytes]:
    rows = []
    for line in block[:-1].split(b"\n"):
        try:
            row = reference.parse_line(line, limits)
        except reference.BadLine as error:
            return error.status, rows, error.token
        rows += [] if row is None else [(row[0], row[1], [float(v) for v in row[2]])]
    return kernel.DONE, rows, b""


def value_of(token: str) -> np.float32:
    status, rows, _ = run_kernel(f"0:{token}\n".encode(), LIMITS)
    assert status == kernel.DONE
    return np.float32(rows[0][2][0] if rows[0][2] else 0.0)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b" ",
        b"1",
        b"1,2",
        b"2,1,1",
        b"1 0:1",
        b" 0:1",
        b"0:1",
        b"0:1 3:0 4:-0.0 7:2.5",
        b"1\t0:1\t2:3 \r",
        b"# 1 2",
        b"1 0:1 # note",
        b"1 0:+1e2 1:1E-2 2:.5 3:5. 4:-7e+1",
        b"007 00:01",
    ],
)
@pytest.mark.parametrize("limits", [LIMITS, [50, 9, 0, 0, 1 << 20]])
def test_good_lines(line: bytes, limits: list[int]) -> None:
    block = b"3 1:2\n" + line + b"\n4 2:3\n"
    assert run_twin(block, limits)[0] == kernel.DONE
    assert run_kernel(block, limits) == run_twin(block, limits)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"a", kernel.BAD_LABEL),
        (b"1,", kernel.BAD_LABEL),
        (b",1", kernel.BAD_LABEL),
        (b"1,,2", kernel.BAD_LABEL),
        (b"-1 0:1", kernel.BAD_LABEL),
        (b"1.0 0:1", kernel.BAD_LABEL),
        (b"\xff\x00", kernel.BAD_LABEL),
        (b"9", kernel.LABEL_RANGE),
        (b"99999999999999999999999999", kernel.LABEL_RANGE),
        (b"1 2", kernel.BAD_FEATURE),
        (b"1 2 3:1", kernel.BAD_FEATURE),
        (b"1 -2:1", kernel.BAD_FEATURE),
        (b"-2:1", kernel.BAD_FEATURE),
        (b":1", kernel.BAD_FEATURE),
        (b"1 a:1", kernel.BAD_FEATURE),
        (b"1 50:1", kernel.FEATURE_RANGE),
        (b"1 18446744073709551616:1", kernel.FEATURE_RANGE),
        (b"1 3:1 2:1", kernel.FEATURE_ORDER),
        (b"1 3:1 3:1", kernel.FEATURE_TWICE),
        (b"1 3:0 3:1", kernel.FEATURE_TWICE),
        (b"1 3:", kernel.BAD_VALUE),
        (b"1 3:nan", kernel.BAD_VALUE),
        (b"1 3:inf", kernel.BAD_VALUE),
        (b"1 3:.", kernel.BAD_VALUE),
        (b"1 3:1e", kernel.BAD_VALUE),
        (b"1 3:1_0", kernel.BAD_VALUE),
        (b"1 3:1:2", kernel.BAD_VALUE),
        (b"1 3:0x1p3", kernel.BAD_VALUE),
        (b"1 3:1#", kernel.BAD_VALUE),
        (b"1 3:3.4028236e38", kernel.VALUE_RANGE),
        (b"1 3:-1e999999999", kernel.VALUE_RANGE),
    ],
)
def test_bad_lines_stop_the_kernel_before_the_row(line: bytes, status: int) -> None:
    block = b"3 1:2\n" + line + b"\n4 2:3\n"
    got = run_kernel(block, LIMITS)
    assert got == run_twin(block, LIMITS)
    assert got[0] == status
    assert got[1] == [([3], [1], [2.0])]


def test_one_based_features() -> None:
    limits = [50, 9, 1, 1, 1 << 20]
    assert run_kernel(b"1 1:5 50:6\n", limits) == (kernel.DONE, [([1], [0, 49], [5.0, 6.0])], b"")
    assert run_kernel(b"1 0:5\n", limits)[0] == kernel.FEATURE_RANGE


def test_rows_past_the_expected_number_are_surplus_unless_blank() -> None:
    two_rows = [50, 9, 0, 1, 2]
    assert run_kernel(b"1\n\n\n # end\n", two_rows) == (
        kernel.DONE,
        [([1], [], []), ([], [], [])],
        b"",
    )
    assert run_kernel(b"1\n\n\n2 3:4\n", two_rows)[0::2] == (kernel.SURPLUS, b"2")


@given(
    st.lists(
        st.text(alphabet="0123456789,:.-+eE #\tx", max_size=24).map(str.encode)
        | st.binary(max_size=12),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([LIMITS, [50, 9, 1, 0, 99]]),
)
def test_any_bytes_parse_as_the_twin_says(lines: list[bytes], limits: list[int]) -> None:
    block = re.sub(rb"e[+-]?\d{5,}", b"e9999", b"\n".join(lines)) + b"\n"  # spare the twin
    assert run_kernel(block, limits) == run_twin(block, limits)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_shortest_and_long_forms_come_back_exactly(value: float) -> None:
    for token in (str(np.float32(value)), repr(value), f"{value:.30e}", f"{value:.50f}"):
        assert value_of(token) == np.float32(float(token))


@given(
    st.integers(0, 10**25),
    st.integers(-75, 13),
    st.sampled_from(["", "-", "+"]),
)
@example(16777217, 0, "")  # an exact tie between two float32
@example(1, -45, "")  # the smallest subnormal is 1.4e-45
@example(34028235, 31, "")  # the largest
@example(0, 9999, "")
def test_decimals_round_correctly(mantissa: int, exponent: int, sign: str) -> None:
    token = f"{sign}{mantissa}e{exponent}"
    assert value_of(token) == reference.nearest_float32(token)


@pytest.mark.parametrize("step", [-1, 0, 1])
@given(significand=st.integers(2**23, 2**24 - 1), power=st.integers(-60, 60))
def test_decimals_beside_a_tie_round_correctly(significand: int, power: int, step: int) -> None:
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 120
        tie = Decimal(2 * significand + 1) * Decimal(2) ** power
        token = format(tie + step * tie * Decimal("1e-25"), "f")
    assert value_of(token) == reference.nearest_float32(token)


def test_counts_are_upper_bounds() -> None:
    assert kernel.count_marks(np.frombuffer(b"1,2 3:4 5:6\n\n7\n", np.uint8)) == (3, 1, 2)


def test_an_empty_block_is_done() -> None:
    assert run_kernel(b"", LIMITS) == (kernel.DONE, [], b"")
