"""Checks of arrays that other kernels will trust: one pass each, over numbers of any type.

Most answer with the position of the first value that is wrong, or -1 (`SOUND`). They read blocks
without branches, which the compiler turns into vector instructions, and look for the place only
in a block that holds something wrong. Arrays are contiguous, of one dimension, and native in byte
order; `readonly` gives the view that a kernel is called with, so that it is compiled once per type
and not once more for arrays that cannot be written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitudes.kernels.arrays import Array, Longs
from multitudes.kernels.compiling import kernel, merged

SOUND = -1
BLOCK = 2048  # values between two looks at whether all was well: they fit the first cache
EXPONENTS = {2: 0x7C00, 4: 0x7F800000, 8: 0x7FF0000000000000}  # all set: NaN or infinite


def readonly(values: Any) -> Array:
    """Return an array as kernels here want it: contiguous, native, flat, and not to be written."""
    view = np.ascontiguousarray(values).view()
    if not view.dtype.isnative:
        view = view.astype(view.dtype.newbyteorder("="))
    if view.dtype == np.bool_:
        view = view.view(np.uint8)
    view.flags.writeable = False
    return view.reshape(-1)


def first_outside(values: Array, low: int, high: int) -> int:
    """Return the first position whose whole number is not in low <= value < high, or -1.

    Parameters
    ----------
    values : array of whole numbers, of any shape
        A position counts in C order.
    low, high : int
        Any Python ints, also beyond what the type of the values can hold.
    """
    limits = np.iinfo(values.dtype) if values.dtype != np.bool_ else np.iinfo(np.uint8)
    kind = limits.dtype.type
    if not values.size:
        return SOUND
    if high <= low or high <= limits.min or low > limits.max:
        return 0
    smallest, largest = kind(max(low, limits.min)), kind(min(high - 1, limits.max))
    return int(_first_outside(readonly(values), smallest, largest))


def first_not_finite(values: Array) -> int:
    """Return the first position of a NaN or an infinite value, or -1; whole numbers have none."""
    if values.dtype.kind != "f" or not values.size:
        return SOUND
    if values.dtype.itemsize not in EXPONENTS:  # long double
        bad = np.flatnonzero(~np.isfinite(values.reshape(-1)))
        return int(bad[0]) if len(bad) else SOUND
    kind = np.dtype(f"u{values.dtype.itemsize}").type
    bits = readonly(values).view(kind)
    return int(_first_with_bits(bits, kind(EXPONENTS[values.dtype.itemsize])))


@kernel
def first_wrong_start(
    starts: Array,  # IN whole numbers (n_rows + 1,)
    n_values: int,  # what they must end at
) -> int:
    """Return the first position of row pointers that do not rise from 0 to `n_values`, or -1."""
    if starts.size == 0 or starts[0] != 0:
        return 0
    bad = 0
    for row in range(np.uint64(1), np.uint64(starts.size)):
        bad |= starts[row] < starts[row - np.uint64(1)]
    if bad:
        for row in range(1, starts.size):
            if starts[row] < starts[row - 1]:
                return row
    last = starts.size - 1
    return SOUND if np.int64(starts[last]) == n_values else last


@kernel
def first_disorder(
    starts: Array,  # IN whole numbers (n_rows + 1,), as `first_wrong_start` wants them
    values: Array,  # IN (starts[-1],)
    strict: bool,  # whether two equal ones in a row are wrong, too
) -> Any:
    """Return the first position of a value that does not follow its neighbor's in a row, or -1."""
    for row in range(starts.size - 1):
        if starts[row + 1] - starts[row] < 2:
            continue
        first, past = np.uint64(starts[row]) + np.uint64(1), np.uint64(starts[row + 1])
        bad = 0
        for k in range(first, past):  # unsigned, or numba would look for negative ones
            before = values[k - np.uint64(1)]
            bad |= (values[k] < before) | (strict & (values[k] == before))
        if bad:
            for k in range(first, past):
                before = values[k - np.uint64(1)]
                if values[k] < before or (strict and values[k] == before):
                    return np.int64(k)
    return SOUND


@kernel
def check_rows(
    starts: Longs,  # IN (n_rows + 1,), as `first_wrong_start` wants them
    indices: Array,  # IN int32 or int64 (nnz,)
    n_columns: int,
    out: Array,  # OUT a copy of the indices, of their type, or (0,) for none
) -> tuple[Any, bool]:
    """Check the columns of a CSR matrix, and copy them, row by row.

    Returns the first position that is outside the matrix, or -1, and whether all rows are
    ascending without repeats. What is copied is checked as it is in the copy, so that it is sound
    whatever happens to the original meanwhile.
    """
    in_order = True
    for row in range(starts.size - 1):
        first, past = np.uint64(starts[row]), np.uint64(starts[row + 1])
        if first == past:
            continue
        if out.size:
            for k in range(first, past):
                out[k] = indices[k]
            low, high, falls = _measure_row(out, first, past)
        else:
            low, high, falls = _measure_row(indices, first, past)
        if low < 0 or high >= n_columns:
            for k in range(first, past):
                if indices[k] < 0 or indices[k] >= n_columns:
                    return np.int64(k), False
            return np.int64(first), False  # it was wrong a moment ago
        in_order &= not falls
    return SOUND, in_order


@merged
def _measure_row(indices: Array, first: Any, past: Any) -> Any:
    """The smallest and largest index of a row, and whether one is not above the one before."""
    low = high = indices[first]
    falls = 0
    for k in range(first + np.uint64(1), past):
        low = min(low, indices[k])
        high = max(high, indices[k])
        falls |= indices[k] <= indices[k - np.uint64(1)]
    return low, high, falls != 0


@kernel
def total_count(
    counts: Array,  # IN whole numbers (n,)
    limit: int,  # the most they may add up to
) -> int:
    """Return the sum of counts, or -1 if one is negative or the sum is above `limit`.

    It cannot overflow: each count is held against what is left of the limit.
    """
    total = np.int64(0)
    for k in range(counts.size):
        count = np.int64(counts[k])  # beyond 2**63 it becomes negative
        if count < 0 or count > limit - total:
            return -1
        total += count
    return int(total)


@kernel
def first_repeated(
    values: Array,  # IN whole numbers (n,), all from 0 to seen.size - 1
    seen: Array,  # TMP bool (n_values,), all False
) -> int:
    """Return the first position of a value that came before, or -1; `seen` is then of no use."""
    for k in range(values.size):
        if seen[values[k]]:
            return k
        seen[values[k]] = True
    return SOUND


@kernel
def _first_outside(values: Array, smallest: Any, largest: Any) -> int:
    n = values.size
    for block in range(0, n, BLOCK):
        stop = min(n, block + BLOCK)
        low, high = values[block], values[block]
        for k in range(np.uint64(block), np.uint64(stop)):  # unsigned, or it is no vector loop
            low = min(low, values[k])
            high = max(high, values[k])
        if low < smallest or high > largest:
            for k in range(block, stop):
                if values[k] < smallest or values[k] > largest:
                    return k
    return SOUND


@kernel
def _first_with_bits(bits: Array, mask: Any) -> int:
    n = bits.size
    for block in range(0, n, BLOCK):
        stop = min(n, block + BLOCK)
        bad = False
        for k in range(np.uint64(block), np.uint64(stop)):
            bad |= (bits[k] & mask) == mask
        if bad:
            for k in range(block, stop):
                if (bits[k] & mask) == mask:
                    return k
    return SOUND
