"""Single passes over arrays: the compiled ones, or numpy where these would not be worth loading.

Loading numba takes longer than most commands that only read a file. So until something else has
loaded it, small arrays are checked by numpy, with the same answers. Large ones are cut into pieces
for the threads of a team, if there is one; the first thing that is wrong stays the first.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from multitudes.types import IntArray

if TYPE_CHECKING:
    from multitudes.kernels.threads import ThreadTeam

SMALL = 1 << 20  # values that numpy checks in a few milliseconds
PIECE = 1 << 16  # values that are worth a thread's while: about 0.1 ms
PIECES_PER_THREAD = 2  # so that one which is held up does not hold up all
Array = npt.NDArray[Any]


def check_rows(
    starts: IntArray, indices: Array, n_columns: int, out: Array, team: ThreadTeam | None = None
) -> tuple[int, bool]:
    """Check the columns of a CSR matrix and copy them; see `multitudes.kernels.checking`."""
    if _is_compiled(indices):
        from multitudes.kernels import checking

        given = checking.readonly(indices)
        cuts = _cuts(len(given), team)
        if team is None or len(cuts) == 2:
            at, in_order = checking.check_rows(starts, given, n_columns, out)
            return int(at), bool(in_order)
        rows = [0, *np.searchsorted(starts, cuts[1:-1]).tolist(), len(starts) - 1]
        found = team.map(
            lambda piece: checking.check_rows(
                starts[piece[0] : piece[1] + 1], given, n_columns, out
            ),
            itertools.pairwise(rows),
        )
        at = _first_found(int(at) for at, _ in found)
        return at, at < 0 and all(in_order for _, in_order in found)
    checked = indices
    if len(out):
        out[:] = indices
        checked = out
    at = first_outside(checked, 0, n_columns)
    rises = checked[1:] > checked[:-1]
    between = starts[1:-1]
    rises[between[(between > 0) & (between < len(checked))] - 1] = True  # another row begins
    return at, at < 0 and bool(rises.all())


def first_wrong_start(starts: IntArray, n_values: int) -> int:
    """Return the first position of row pointers that do not rise from 0 to `n_values`, or -1."""
    if _is_compiled(starts):
        from multitudes.kernels import checking

        return int(checking.first_wrong_start(starts, n_values))
    if not len(starts) or starts[0] != 0:
        return 0
    falls = starts[1:] < starts[:-1]
    if falls.any():
        return int(np.argmax(falls)) + 1
    return -1 if starts[-1] == n_values else len(starts) - 1


def first_outside(values: Array, low: int, high: int) -> int:
    """Return the first position whose whole number is not in low <= value < high, or -1."""
    if _is_compiled(values):
        from multitudes.kernels import checking

        return checking.first_outside(values, low, high)
    return _first((values < low) | (values >= high))


def first_not_finite(values: Array, team: ThreadTeam | None = None) -> int:
    """Return the first position of a NaN or an infinite value, or -1; counted in C order."""
    if not _is_compiled(values):
        return _first(~np.isfinite(values))
    from multitudes.kernels import checking

    cuts = _cuts(values.size, team)
    if team is None or len(cuts) == 2 or not values.flags.c_contiguous:
        return checking.first_not_finite(values)
    flat = values.reshape(-1)
    found = team.map(
        lambda piece: (piece[0], checking.first_not_finite(flat[slice(*piece)])),
        itertools.pairwise(cuts),
    )
    return _first_found(start + at if at >= 0 else at for start, at in found)


def _cuts(n_values: int, team: ThreadTeam | None) -> list[int]:
    """Where an array is cut for the threads of a team, from 0 to its end; once is not at all."""
    if team is None or team.n_threads == 1 or n_values < 2 * PIECE:
        return [0, n_values]
    n_pieces = min(PIECES_PER_THREAD * team.n_threads, n_values // PIECE)
    return [n_values * i // n_pieces for i in range(n_pieces + 1)]


def _first_found(positions: Iterable[int]) -> int:
    return next((at for at in positions if at >= 0), -1)


def _is_compiled(values: Array) -> bool:
    return values.size > SMALL or "numba" in sys.modules


def _first(wrong: npt.NDArray[np.bool_]) -> int:
    flat = wrong.reshape(-1)
    return int(np.argmax(flat)) if flat.any() else -1
