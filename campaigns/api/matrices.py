"""Matrices as a user might give them: good ones in all forms, odd ones, and corrupt ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from campaigns.api import odd_types as values

FORMS: tuple[Callable[[Any], Any], ...] = (
    sp.csr_array, sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array,
    sp.bsr_array,
    sp.lil_array, sp.dok_array, sp.dia_array, np.asarray, np.asarray, np.matrix, np.ndarray.tolist,
    np.asfortranarray, np.ma.masked_array,
)  # fmt: skip
DTYPES = (
    "f4", "f8", "f2", "i1", "u1", "i4", "u4", "i8", "u8", "?", "c8", "O", "U3", "S2", ">f4", ">i8",
    "longdouble", "M8[s]",
)  # fmt: skip
VALUES = (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e-45, 1e38, 3e38, 1e300, 0.5, 2.0, 1e10)
INDICES = (-1, -5, -(2**31), 2**31 - 1, 2**31, 2**33, 2**62, 10**6, 7, 8)


def good(rng: random.Random, shape: tuple[int, int], *, binary: bool = False) -> Any:
    """Return a sparse matrix that is as it should be."""
    numbers = np.random.default_rng(rng.getrandbits(63))
    dense = numbers.random(shape) * (numbers.random(shape) < 0.4)
    if binary:
        dense = (dense > 0).astype(float)
        if shape[1]:
            dense[np.arange(shape[0]), np.arange(shape[0]) % shape[1]] = 1.0
    return sp.csr_array(dense.astype(np.float32))


def odd(rng: random.Random, shape: tuple[int, int], *, binary: bool = False) -> Any:
    """Return a matrix in another form, of another dtype or shape, or with odd values."""
    shape = _near(rng, shape) if rng.random() < 0.25 else shape
    matrix = good(rng, shape, binary=binary)
    choice = rng.random()
    if choice < 0.45:
        return corrupt(rng, matrix)
    dense = matrix.toarray()
    if choice < 0.6 and dense.size:
        dense.flat[rng.randrange(dense.size)] = rng.choice(VALUES)
    if choice > 0.85:
        return _not_a_matrix(rng, dense)
    try:
        with np.errstate(all="ignore"):
            dense = dense.astype(rng.choice(DTYPES)) if rng.random() < 0.5 else dense
            return rng.choice(FORMS)(dense)
    except (TypeError, ValueError):
        return dense


def _near(rng: random.Random, shape: tuple[int, int]) -> tuple[int, int]:
    rows, columns = shape
    return rng.choice((
        (0, columns), (rows, 0), (0, 0), (1, columns), (rows, 1), (rows + 1, columns),
        (rows, columns + 1), (rows, max(columns - 1, 0)), (columns, rows), (rows, 3 * columns),
    ))  # fmt: skip


def _not_a_matrix(rng: random.Random, dense: Any) -> Any:
    """Return something that is not two-dimensional, or not numbers, or a table."""
    others: tuple[Callable[[], Any], ...] = (
        lambda: dense.ravel(),
        lambda: dense[None],
        lambda: dense[::2, ::2],
        lambda: [*dense.tolist()[:1], [1.0]],
        lambda: [[None]],
        lambda: _table(dense),
        lambda: np.empty((0,)),
        lambda: np.float32(1),
        lambda: [sp.csr_array(dense)],
        lambda: None,
        lambda: _read_only(dense),
        lambda: [{0: 1.0}, {}],
    )
    return rng.choice(others)() if rng.random() < 0.8 else values.thing(rng)


def _table(dense: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(dense)


def _read_only(dense: Any) -> Any:
    dense.flags.writeable = False
    return dense


def corrupt(rng: random.Random, matrix: Any) -> Any:
    """Return a sparse matrix whose arrays do not fit together, which SciPy does not check."""
    form = rng.choice(("csr", "csr", "csr", "csc", "bsr", "coo", "lil", "dia"))
    broken = matrix.asformat(form).copy()
    if rng.random() < 0.3 and form in ("csr", "csc", "bsr", "coo"):
        broken = type_of(form)(broken)
    _BREAK[form](rng, broken)
    return broken


def type_of(form: str) -> Any:
    """Return the matrix class of a form, for those who do not use arrays yet."""
    return getattr(sp, f"{form}_matrix")


def _break_compressed(rng: random.Random, matrix: Any) -> None:
    choice = rng.randrange(10)
    if rng.random() < 0.3:
        matrix.indices = matrix.indices.astype(np.int64)
        matrix.indptr = matrix.indptr.astype(np.int64)
    if choice <= 2 and len(matrix.indices):
        _set(matrix.indices, rng.randrange(len(matrix.indices)), rng.choice(INDICES))
    elif choice <= 5:
        _set(matrix.indptr, rng.randrange(len(matrix.indptr)), rng.choice(INDICES))
    elif choice == 6:
        matrix.data = matrix.data[: len(matrix.data) // 2]
    elif choice == 7:
        matrix.indptr = matrix.indptr[: rng.randrange(len(matrix.indptr))]
    elif choice == 8:
        matrix._shape = rng.choice(((2, 2), (0, 3), (10**6, 3), (5, 10**9), (-1, 4)))
    else:
        kept = rng.choice(("data", "indices", "indptr"))
        odd_ones = (np.zeros((2, 2)), np.array([0.5, 1.5]), np.array(["a"]), np.array(3), None)
        setattr(matrix, kept, rng.choice(odd_ones))


def _break_coo(rng: random.Random, matrix: Any) -> None:
    if not len(matrix.data):
        return
    rows, columns = (np.array(part) for part in (matrix.row, matrix.col))
    part = rng.choice((rows, columns))
    _set(part, rng.randrange(len(part)), rng.choice(INDICES))
    if rng.random() < 0.2:
        rows = rows[:-1]
    if hasattr(matrix, "coords"):
        matrix.coords = (rows, columns)
    else:
        matrix.row, matrix.col = rows, columns


def _break_lil(rng: random.Random, matrix: Any) -> None:
    if matrix.shape[0]:
        at = rng.randrange(matrix.shape[0])
        matrix.rows[at] = rng.choice(([-1], [10**6], [0, 0], [3, 1], ["a"], None, [0]))
        matrix.data[at] = rng.choice(([1.0], [], None, ["a"], [np.nan]))


def _break_dia(rng: random.Random, matrix: Any) -> None:
    matrix.offsets = np.array(rng.choice(([0, 0], [10**6], [-(10**6)], [2**31 - 1], [])))


def _set(array: Any, at: int, value: int) -> None:
    limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
    if limits is not None:
        array[at] = value if limits.min <= value <= limits.max else limits.max


_BREAK: dict[str, Callable[[random.Random, Any], None]] = {
    "csr": _break_compressed,
    "csc": _break_compressed,
    "bsr": _break_compressed,
    "coo": _break_coo,
    "lil": _break_lil,
    "dia": _break_dia,
}
