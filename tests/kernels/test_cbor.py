"""Numbers in CBOR, written here by the rules of RFC 8949 and read by the kernels."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitudes.kernels.cbor import read_floats, read_whole_numbers

SIZES = {0x18: ">B", 0x19: ">H", 0x1A: ">I", 0x1B: ">Q"}


def encoded(number: int, head: int | None = None) -> bytes:
    """A whole number, in the shortest form or behind a given head."""
    if head is None:
        if number < 24:
            return bytes([number])
        head = next(head for head, form in SIZES.items() if number < 256 ** struct.calcsize(form))
    return bytes([head]) + struct.pack(SIZES[head], number)


def read(kernel, content: bytes, n: int, dtype, at: int = 0):
    out = np.full(n, 77, dtype)
    end = kernel(np.frombuffer(content, np.uint8), at, out)
    return end, out


@given(st.lists(st.integers(0, 2**62)))
def test_whole_numbers(numbers):
    content = b"\xff" + b"".join(map(encoded, numbers)) + b"\xff"
    end, out = read(read_whole_numbers, content, len(numbers), np.int64, at=1)
    assert end == len(content) - 1
    assert out.tolist() == numbers


@pytest.mark.parametrize("head", SIZES)
def test_a_form_longer_than_needed_is_read_too(head):
    end, out = read(read_whole_numbers, encoded(7, head), 1, np.int64)
    assert (end, out[0]) == (1 + struct.calcsize(SIZES[head]), 7)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\x18", b"\x19\x00", b"\x1a\x00\x00\x00", b"\x1b" + b"\x00" * 7,  # cut short
        b"\x20", b"\x40", b"\x80", b"\xf9\x00\x00", b"\xff",  # other kinds
        b"\x1c", b"\x1f",  # not in use, and of unknown length
        encoded(2**62 + 1), b"\x1b" + b"\xff" * 8,  # too large
    ],
)  # fmt: skip
def test_anything_else_is_no_whole_number(content):
    assert read(read_whole_numbers, content, 1, np.int64)[0] == -1


@given(st.lists(st.floats(width=32, allow_nan=False)))
def test_floats(numbers):
    content = b"".join(b"\xfa" + struct.pack(">f", number) for number in numbers)
    end, out = read(read_floats, content, len(numbers), np.uint32)
    assert end == len(content)
    assert out.view(np.float32).tolist() == numbers


def test_every_half_is_the_same_number():
    halves = np.arange(1 << 16, dtype=np.uint16)
    content = b"".join(b"\xf9" + struct.pack(">H", half) for half in halves.tolist())
    end, out = read(read_floats, content, len(halves), np.uint32)
    assert end == len(content)
    np.testing.assert_array_equal(out.view(np.float32), halves.view(np.float16).astype(np.float32))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xfa\x00\x00\x00",
        b"\xf9\x00",
        b"\xfb" + b"\x00" * 8,
        b"\x00\x00\x00",
        b"\xf6\xf6\xf6",
    ],
)
def test_anything_else_is_no_float(content):
    assert read(read_floats, content, 1, np.uint32)[0] == -1


def test_nothing_is_read_as_nothing():
    assert read(read_whole_numbers, b"", 0, np.int64)[0] == 0
    assert read(read_floats, b"", 0, np.uint32)[0] == 0
