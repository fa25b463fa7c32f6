"""Parse lines of the sparse text format: ``l1,l2 f:v f:v ...``, straight from bytes.

One pass over a block of whole lines writes CSR rows. The kernel stops at the first bad line and
says where the offending token is, so that the caller can raise or skip and call again.

A decimal is read as (mantissa, exponent of ten), at most 19 digits deep, and turned into a double
whose error stays below 3 units in its last place. Rounded to float32 that is the exact answer
unless the double lies that near to the middle between two float32; such values, and exponents
beyond the exact powers of ten, are listed as *odd* for the caller to parse with exact arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitudes.kernels.compiling import allocating, borrowing, inner, kernel, merged

# Slots of `cursor`, the kernel's state between calls.
POSITION = 0  # next byte to read; after an error, the start of the line after the bad one
ROWS = 1  # rows written
ENTRIES = 2  # features written
LABELS = 3  # labels written
ODD = 4  # odd values of this block
MAX_FEATURE = 5  # largest feature id seen, zeros included; -1 for none
MAX_LABEL = 6
UNSORTED_LABELS = 7  # 1 once a row listed labels unsorted or twice
LINES = 8  # lines read in this block, the bad one included
TOKEN_START = 9  # the offending token of an error
TOKEN_END = 10
CURSOR_SLOTS = 11

# What the kernel returns.
DONE = 0
BAD_LABEL = 1
BAD_FEATURE = 2
BAD_VALUE = 3
LABEL_RANGE = 4
FEATURE_RANGE = 5
FEATURE_ORDER = 6
FEATURE_TWICE = 7
VALUE_RANGE = 8
SURPLUS = 9

NEWLINE, TAB, RETURN, SPACE, HASH = 10, 9, 13, 32, 35
PLUS, COMMA, MINUS, DOT, ZERO, NINE, COLON = 43, 44, 45, 46, 48, 57, 58

POWERS_OF_TEN = np.array([10.0**i for i in range(23)])  # exact in float64
MAX_DIGITS = 19  # fit in 64 bits
ID_DIGITS = 12  # longer ids go the slow way
TOO_LARGE = 1 << 40  # ids past this are read as this: out of any range, and no overflow
NEAR_TIE = 8  # half-width, in float64 units in the last place, of what is called a near tie
LARGEST = 3.40282352e38  # between float32's largest and what would round to infinity


@kernel
def count_marks(block: Any) -> tuple[int, int, int]:
    """Upper bounds of what a block holds: (lines, commas, colons).

    Parameters
    ----------
    block : IN uint8 (n_bytes,)
    """
    lines = commas = colons = 0
    for i in range(block.size):
        byte = block[i]
        lines += byte == NEWLINE
        commas += byte == COMMA
        colons += byte == COLON
    return lines, commas, colons


@merged
def _read_id(block: Any, i: Any) -> Any:
    """(id, next position); the id is -1 where no digit stands at `i`, or TOO_LARGE."""
    start = i
    value = np.int64(0)
    digit = np.int64(block[i]) - ZERO
    while 0 <= digit <= 9:
        value = value * 10 + digit  # may overflow, but then has many digits
        i += np.uintp(1)
        digit = np.int64(block[i]) - ZERO
    if i == start:
        return np.int64(-1), i
    if i - start > np.uintp(ID_DIGITS):
        value = _clamped_id(block, start)
    return value, i


@borrowing
def _clamped_id(block: Any, i: Any) -> Any:
    """Return the id at `i`, of any number of digits: at most TOO_LARGE."""
    value = np.int64(0)
    digit = np.int64(block[i]) - ZERO
    while 0 <= digit <= 9:
        value = min(value * 10 + digit, np.int64(TOO_LARGE))
        i += np.uintp(1)
        digit = np.int64(block[i]) - ZERO
    return value


@borrowing
def _read_exponent(block: Any, i: Any) -> Any:
    """(valid, exponent, next position) of what follows an ``e``."""
    negative = block[i] == MINUS
    if negative or block[i] == PLUS:
        i += np.uintp(1)
    exponent, i = _read_id(block, i)
    if exponent < 0:
        return False, np.int64(0), i
    exponent = min(exponent, np.int64(100_000))
    return True, (-exponent if negative else exponent), i


@borrowing
def _read_value(block: Any, i: Any) -> Any:
    """(valid, mantissa, exponent of ten, negative, next position) of a decimal."""
    negative = block[i] == MINUS
    if negative or block[i] == PLUS:
        i += np.uintp(1)
    start = i
    mantissa = np.uint64(0)
    while ZERO <= block[i] <= NINE:
        mantissa = mantissa * np.uint64(10) + np.uint64(block[i] - ZERO)
        i += np.uintp(1)
    n_digits = np.int64(i - start)
    exponent = np.int64(0)
    if block[i] == DOT:
        i += np.uintp(1)
        point = i
        while ZERO <= block[i] <= NINE:
            mantissa = mantissa * np.uint64(10) + np.uint64(block[i] - ZERO)
            i += np.uintp(1)
        exponent = -np.int64(i - point)
        n_digits -= exponent
    if n_digits > MAX_DIGITS:  # the mantissa may have overflowed
        mantissa, exponent = _read_long(block, start)
    valid = n_digits > 0
    if valid and (block[i] == 69 or block[i] == 101):  # E, e
        valid, shift, i = _read_exponent(block, i + np.uintp(1))
        exponent += shift
    return valid, mantissa, exponent, negative, i


@borrowing
def _read_long(block: Any, i: Any) -> Any:
    """(mantissa, exponent of ten) of the first 19 digits that count; the others are dropped."""
    mantissa = np.uint64(0)
    n_kept, exponent, fraction = np.int64(0), np.int64(0), np.int64(0)
    while ZERO <= block[i] <= NINE or block[i] == DOT:
        if block[i] == DOT:
            if fraction:
                break
            fraction = np.int64(1)
        elif n_kept < MAX_DIGITS:
            mantissa = mantissa * np.uint64(10) + np.uint64(block[i] - ZERO)
            n_kept += np.int64(mantissa > 0)  # leading zeros are free
            exponent -= fraction
        else:
            exponent += 1 - fraction
        i += np.uintp(1)
    return mantissa, exponent


@borrowing
def _to_float(mantissa: Any, exponent: Any, bits: Any, pair: Any) -> Any:
    """(value as float64, whether its float32 is certain); `bits` and `pair` share memory (TMP)."""
    if mantissa == 0:
        return 0.0, True
    value = np.float64(mantissa)
    if exponent < -22 or exponent > 22:
        return value * 10.0 ** np.float64(exponent), False
    if exponent < 0:
        value /= POWERS_OF_TEN[-exponent]
    else:
        value *= POWERS_OF_TEN[exponent]
    pair[0] = value
    # The low 29 bits of a double are what float32 rounds away; 2**28 is the tie.
    from_tie = (bits[0] & 0x1FFFFFFF) - 0x10000000
    return value, from_tie > NEAR_TIE or from_tie < -NEAR_TIE


@merged
def _is_blank(byte: Any) -> Any:
    return byte == SPACE or byte == TAB or byte == RETURN


@merged
def _skip_blanks(block: Any, i: Any) -> Any:
    while _is_blank(block[i]):
        i += np.uintp(1)
    return i


@borrowing
def _token_end(block: Any, i: Any) -> Any:
    while block[i] != NEWLINE and not _is_blank(block[i]):
        i += np.uintp(1)
    return i


@borrowing
def _line_end(block: Any, i: Any) -> Any:
    while block[i] != NEWLINE:
        i += np.uintp(1)
    return i


@borrowing
def _read_labels(block: Any, i: Any, limits: Any, label_ids: Any, n: Any) -> Any:
    """(status, next position, labels written so far, largest, unsorted) of ``l1,l2,...``."""
    previous, largest, unsorted = np.int64(-1), np.int64(-1), False
    while True:
        label, i = _read_id(block, i)
        more = block[i] == COMMA
        if label < 0 or not (more or block[i] == NEWLINE or _is_blank(block[i])):
            return BAD_LABEL, i, n, largest, unsorted
        if label >= limits[1]:
            return LABEL_RANGE, i, n, largest, unsorted
        unsorted |= label <= previous
        previous = label
        largest = max(largest, label)
        label_ids[n] = label
        n += 1
        if not more:
            return DONE, i, n, largest, unsorted
        i += np.uintp(1)


@borrowing
def _starts_with_feature(block: Any, i: Any) -> Any:
    """Return whether the token at `i` holds a colon: the line then has no labels."""
    while block[i] != NEWLINE and not _is_blank(block[i]):
        if block[i] == COLON:
            return True
        i += np.uintp(1)
    return False


@inner
def _read_features(
    block: Any, i: Any, limits: Any, feature_ids: Any, values: Any, odd: Any, state: Any
) -> Any:
    """(status, next position, offending token) of ``f:v f:v ...`` up to the line's end.

    `state` (IN and OUT int64 (3,)) holds entries written, odd values listed, last feature id.
    """
    bits = np.empty(1, np.int64)
    pair = bits.view(np.float64)
    entries, n_odd, previous = state[0], state[1], state[2]
    while True:
        i = _skip_blanks(block, i)
        if block[i] == NEWLINE or block[i] == HASH:
            state[0], state[1], state[2] = entries, n_odd, previous
            return DONE, i, i
        token = i
        feature, i = _read_id(block, i)
        if feature < 0 or block[i] != COLON:
            return BAD_FEATURE, i, token
        feature -= limits[2]
        if feature < 0 or feature >= limits[0]:
            return FEATURE_RANGE, i, token
        if feature <= previous:
            return (FEATURE_TWICE if feature == previous else FEATURE_ORDER), i, token
        previous = feature
        start = i + np.uintp(1)
        valid, mantissa, exponent, negative, i = _read_value(block, start)
        if not valid or not (block[i] == NEWLINE or _is_blank(block[i])):
            return BAD_VALUE, i, token
        value, certain = _to_float(mantissa, exponent, bits, pair)
        if value > LARGEST:
            return VALUE_RANGE, i, token
        if not certain:
            odd[n_odd, 0], odd[n_odd, 1], odd[n_odd, 2] = entries, start, i
            n_odd += 1
        feature_ids[entries] = feature
        values[entries] = -value if negative else value
        entries += value != 0.0 or not certain


@allocating
def parse_lines(
    block: Any, limits: Any, feature_ends: Any, label_ends: Any, feature_ids: Any, values: Any,
    label_ids: Any, odd: Any, cursor: Any,
) -> int:  # fmt: skip
    """Parse lines from ``cursor[POSITION]`` to the end of the block or the first bad line.

    Parameters
    ----------
    block : IN uint8 (n_bytes,)
        Whole lines; the last byte is a newline.
    limits : IN int64 (5,)
        n_features, n_labels, the first feature id (0 or 1), whether a blank line is an instance,
        the number of rows to expect: blank lines after those are passed over, others are SURPLUS.
    feature_ends, label_ends : OUT int64 (>= rows so far + lines + 1,)
        ``ends[r + 1]`` is where row r ends.
    feature_ids : OUT int32 (>= entries so far + colons,)
    values : OUT float32, as long as `feature_ids`
        Zeros are not stored.
    label_ids : OUT int32 (>= labels so far + commas + lines,)
    odd : OUT int64 (>= colons, 3)
        (entry, first byte, last byte + 1) of the values left to the caller, in this block.
    cursor : IN and OUT int64 (CURSOR_SLOTS,)
        After an error the counts are those before the bad line.

    Returns
    -------
    int
        DONE or the kind of error.
    """
    state = np.empty(3, np.int64)
    i = np.uintp(cursor[POSITION])
    while i < np.uintp(block.size):
        row, n_labels = cursor[ROWS], cursor[LABELS]
        state[0], state[1], state[2] = cursor[ENTRIES], cursor[ODD], -1
        status, unsorted, max_label = DONE, False, np.int64(-1)
        cursor[LINES] += 1
        i = token = _skip_blanks(block, i)
        is_blank = block[i] == NEWLINE
        is_row = block[i] != HASH and not (is_blank and (limits[3] == 0 or row >= limits[4]))
        if is_row and row >= limits[4]:
            status = SURPLUS
        elif is_row and not is_blank and not _starts_with_feature(block, i):
            status, i, n_labels, max_label, unsorted = _read_labels(
                block, i, limits, label_ids, n_labels
            )
        if status == DONE:
            status, i, token = _read_features(block, i, limits, feature_ids, values, odd, state)
        i = _line_end(block, i) + np.uintp(1)
        cursor[POSITION] = i
        if status != DONE:
            cursor[TOKEN_START], cursor[TOKEN_END] = token, _token_end(block, token)
            return status
        if is_row:
            feature_ends[row + 1], label_ends[row + 1] = state[0], n_labels
            cursor[ROWS], cursor[ENTRIES], cursor[ODD] = row + 1, state[0], state[1]
            cursor[LABELS] = n_labels
            cursor[MAX_FEATURE] = max(cursor[MAX_FEATURE], state[2])
            cursor[MAX_LABEL] = max(cursor[MAX_LABEL], max_label)
            cursor[UNSORTED_LABELS] |= unsorted
    return DONE
