"""Arrays of numbers in CBOR (RFC 8949), where each number has a head and a length of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Bytes, Longs, UInts

# First bytes: what follows, and for numbers below 24 the number itself.
ONE_BYTE, TWO_BYTES, FOUR_BYTES, EIGHT_BYTES = 0x18, 0x19, 0x1A, 0x1B
HALF, SINGLE = 0xF9, 0xFA
LARGEST = np.uint64(1 << 62)


@njit(nogil=True, cache=True)
def read_whole_numbers(
    data: Bytes,  # IN: all bytes
    at: int,  # IN: where the first number starts
    out: Longs,  # OUT (n,): so many numbers
) -> int:
    """Read whole numbers >= 0; returns where the last ends, or -1 if there is anything else."""
    for i in range(out.size):
        if at >= data.size:
            return -1
        first = data[at]
        if first < ONE_BYTE:
            out[i] = first
            at += 1
            continue
        if first > EIGHT_BYTES:
            return -1
        length = 1 << (first - ONE_BYTE)
        if at + 1 + length > data.size:
            return -1
        value = np.uint64(0)
        for k in range(length):
            value = (value << np.uint64(8)) | np.uint64(data[at + 1 + k])
        if value > LARGEST:
            return -1
        out[i] = np.int64(value)
        at += 1 + length
    return at


@njit(nogil=True, cache=True)
def read_floats(
    data: Bytes,  # IN: all bytes
    at: int,  # IN: where the first number starts
    out: UInts,  # OUT (n,): the bits of so many float32
) -> int:
    """Read floats of 16 or 32 bits; returns where the last ends, or -1 if there is anything else.

    Writers shorten a number to 16 bits if nothing is lost.
    """
    for i in range(out.size):
        if at + 3 > data.size:
            return -1
        if data[at] == SINGLE:
            if at + 5 > data.size:
                return -1
            bits = np.uint32(0)
            for k in range(1, 5):
                bits = (bits << np.uint32(8)) | np.uint32(data[at + k])
            out[i] = bits
            at += 5
        elif data[at] == HALF:
            out[i] = widened((np.uint32(data[at + 1]) << np.uint32(8)) | np.uint32(data[at + 2]))
            at += 3
        else:
            return -1
    return at


@njit(nogil=True, cache=True)
def widened(half: int) -> Any:
    """Return the bits of the float32 that equals a float16."""
    sign = (half >> 15) << 31
    exponent = (half >> 10) & 0x1F
    fraction = half & 0x3FF
    if exponent == 0x1F:  # infinite, or not a number
        return np.uint32(sign | (0xFF << 23) | (fraction << 13))
    if exponent == 0:
        if fraction == 0:
            return np.uint32(sign)
        exponent = 1  # subnormal: shift until the leading one is where float32 leaves it out
        while not fraction & 0x400:
            fraction <<= 1
            exponent -= 1
        fraction &= 0x3FF
    return np.uint32(sign | ((exponent + 112) << 23) | (fraction << 13))
