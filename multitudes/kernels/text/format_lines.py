"""Write CSR rows as lines of the sparse text format: ``l1,l2 f:v f:v ...``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

COMMA, COLON, SPACE, NEWLINE, ZERO = 44, 58, 32, 10, 48


@njit(cache=True)
def _write_id(number: Any, out: Any, n: int) -> int:
    """Write a non-negative id at `n`; returns the next position."""
    width = 1
    rest = number // 10
    while rest > 0:
        width += 1
        rest //= 10
    for place in range(n + width - 1, n - 1, -1):
        out[place] = ZERO + number % 10
        number //= 10
    return n + width


@njit(cache=True)
def format_lines(
    feature_ends: Any, feature_ids: Any, values: Any, label_ends: Any, label_ids: Any, out: Any
) -> int:
    """Write one line per row; returns the number of bytes written.

    Parameters
    ----------
    feature_ends, label_ends : IN int (n_rows + 1,)
        Row r is ``ends[r]`` to ``ends[r + 1]``, counted from ``ends[0]``.
    feature_ids, label_ids : IN int32
    values : IN uint8
        The values as text, each followed by a comma.
    out : OUT uint8 (>= bytes of values + 12 per feature + 12 per label + 2 per row,)
    """
    n, read = 0, 0
    for row in range(feature_ends.size - 1):
        for place in range(label_ends[row] - label_ends[0], label_ends[row + 1] - label_ends[0]):
            n = _write_id(np.int64(label_ids[place]), out, n)
            out[n] = COMMA
            n += 1
        if label_ends[row + 1] > label_ends[row]:
            n -= 1  # the comma after the last label
        for place in range(
            feature_ends[row] - feature_ends[0], feature_ends[row + 1] - feature_ends[0]
        ):
            out[n] = SPACE
            n = _write_id(np.int64(feature_ids[place]), out, n + 1)
            out[n] = COLON
            n += 1
            while values[read] != COMMA:
                out[n] = values[read]
                n += 1
                read += 1
            read += 1
        out[n] = NEWLINE
        n += 1
    return n
