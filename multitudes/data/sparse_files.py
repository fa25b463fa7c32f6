"""Sparse matrices of `scipy.sparse.save_npz`, of any layout, checked before anything uses them.

SciPy walks along the indices of a matrix without looking whether they lie within it, and takes the
memory that a file's shape declares. Both are checked here first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes import memory
from multitudes.data.npy_members import Member, Members, open_members
from multitudes.distinct import distinct
from multitudes.errors import DataError

LARGEST = np.iinfo(np.int32).max  # rows and columns that a matrix may have
# Rows that a file may declare without saying anything about them, and how many more per entry:
# a matrix that is emptier is a mistake, and takes memory for each of its rows.
_FREE_ROWS = 10_000_000
_ROWS_PER_ENTRY = 100
# A layout that stores zeros is read if it takes little memory, or is not nearly all zeros.
_FREE_CELLS = 10_000_000
_MOST_INFLATED = 100
_NOT_ONE = (
    "is not a valid sparse matrix ({}); expected a file of scipy.sparse.save_npz: save it again, "
    "or copy it again if it was cut short"
)


def read_sparse(path: Path, *, layout: str = "csr", add_duplicates: bool = False) -> Any:
    """Read a matrix as float32 with sorted indices, all of its numbers finite.

    Parameters
    ----------
    path : Path
        A file of `scipy.sparse.save_npz`: CSR, CSC, COO, BSR or DIA.
    layout : str
        What is returned: "csr" or "csc".
    add_duplicates : bool
        Add entries that are stored more than once; by default they are an error.

    Returns
    -------
    csr_array or csc_array, float32

    Raises
    ------
    DataError
        If it is not such a file, is damaged, or holds numbers that are not finite.
    ResourceError
        If it declares more than there is memory for.
    """
    with open_members(path, not_one=_NOT_ONE) as members:
        reader = _Reader(path, members, layout, add_duplicates)
        stored = reader.matrix()
    matrix = stored.asformat(layout)
    n_stored = matrix.nnz if stored.format in ("dia", "bsr") else stored.nnz
    matrix.sum_duplicates()
    if matrix.nnz != n_stored and not add_duplicates:
        raise _doubled(path, n_stored - matrix.nnz)
    _check_finite(matrix, path)
    return matrix


def _doubled(path: Path, count: int) -> DataError:
    return DataError(
        f"{path} stores {count:,} entries more than once; expected each (row, column) once: call "
        "sum_duplicates() before saving, if adding them is right"
    )


def _check_finite(matrix: Any, path: Path) -> None:
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        major = int(np.searchsorted(matrix.indptr, bad[0], "right")) - 1
        place = (major, int(matrix.indices[bad[0]]))
        row, column = place if matrix.format == "csr" else place[::-1]
        raise DataError(
            f"{path} must hold finite float32 numbers, got {matrix.data[bad[0]]} in row {row:,}, "
            f"column {column:,}: correct it before saving"
        )


class _Reader:
    """Reads one matrix; a ValueError says what is wrong with it."""

    def __init__(self, path: Path, members: Members, layout: str, add_duplicates: bool) -> None:
        self.path, self.members, self.layout = path, members, layout
        self.add_duplicates = add_duplicates

    def matrix(self) -> Any:
        """Return the matrix in the layout it is stored in, float32."""
        self.shape = self._shape()
        self.data = self.members.member("data")
        if self.data.dtype.kind not in "biuf" or self.data.dtype.itemsize > 8:
            raise DataError(f"{self.path} must hold real numbers, got {self.data.dtype}")
        kind = self._kind()
        if kind in ("csr", "csc"):
            return self._compressed(kind)
        if kind == "bsr":
            return self._blocks()
        if kind == "dia":
            return self._diagonals()
        return self._coordinates()

    def _kind(self) -> str:
        member = self.members.member("format")
        if member.dtype.kind not in "SU" or member.size != 1:
            raise ValueError("its format is not a word")
        kind = self.members.read(member).item()
        kind = kind.decode("latin1") if isinstance(kind, bytes) else kind
        if kind not in ("csr", "csc", "bsr", "dia", "coo"):
            raise ValueError(f"its format is {kind[:20]!r}")
        return str(kind)

    def _shape(self) -> tuple[int, int]:
        member = self._indices("shape")
        if member.size != 2:
            raise ValueError(f"its shape has {member.size:,} numbers, expected 2")
        n_rows, n_columns = (int(n) for n in self.members.read(member))
        for what, n in (("rows", n_rows), ("columns", n_columns)):
            if not 0 <= n <= LARGEST:
                raise ValueError(f"it declares {n:,} {what}, expected 0 to {LARGEST:,}")
        return n_rows, n_columns

    def _indices(self, name: str) -> Member:
        """Return an array of whole numbers, not read yet."""
        member = self.members.member(name)
        if member.dtype.kind not in "iu" or len(member.shape) != 1:
            raise ValueError(f"{name!r} must be one row of whole numbers, got {member.dtype}")
        return member

    def _check_length(self, members: Sequence[Member], *, entries: int) -> None:
        """Hold lengths against each other."""
        for member in members:
            if member.shape[:1] != (entries,):
                raise ValueError(f"{member.name!r} has {member.size:,} entries, not {entries:,}")

    def _check_emptiness(self, *axes: str) -> None:
        """Hold the rows, or columns, that take memory against the entries that there are."""
        for axis in {*axes, self.layout}:
            stated = self.shape[0 if axis == "csr" else 1]
            if stated > _FREE_ROWS + _ROWS_PER_ENTRY * self.data.size:
                what = "rows" if axis == "csr" else "columns"
                raise ValueError(f"it declares {stated:,} {what}, {self.data.size:,} entries")

    def _check_inflation(self) -> None:
        """Refuse a file of nothing but zeros that takes much memory."""
        inflation = self.members.inflation(self.data)
        if self.data.size > _FREE_CELLS and inflation > _MOST_INFLATED:
            raise ValueError(
                f"{self.data.size:,} numbers are packed {inflation:,.0f} times, so they are nearly "
                "all 0: save it as CSR"
            )

    def _ask(self, n_bytes: int) -> None:
        n_rows, n_columns = self.shape
        memory.ask(
            n_bytes + 8 * (n_rows if self.layout == "csr" else n_columns),
            f"{self.path}: a matrix of {n_rows:,} rows, {n_columns:,} columns and "
            f"{self.data.size:,} entries",
            advice="check that the file is the right one",
        )

    def _within(
        self, member: Member, bound: int, differ: Callable[[Any], Any] | None = None
    ) -> npt.NDArray[Any]:
        """Read indices, all of which must lie below a bound.

        `differ` says of positions whose index is that of the one before whether they are another
        place of the matrix nevertheless: many that are not are found before all are read.
        """
        out = np.empty(member.size, np.int32)
        at = 0
        for chunk in self.members.chunks(member):
            if int(chunk.min()) < 0 or int(chunk.max()) >= bound:
                bad = chunk[(chunk < 0) | (chunk >= bound)][0]
                raise ValueError(f"{member.name!r} must be from 0 to {bound - 1:,}, got {bad:,}")
            out[at : at + len(chunk)] = chunk
            again = np.flatnonzero(chunk[1:] == chunk[:-1]) + at + 1
            if differ is not None and not self.add_duplicates and not np.all(differ(again)):
                raise _doubled(self.path, int(np.count_nonzero(~differ(again))))
            at += len(chunk)
        return out

    def _starts(self, member: Member, n_entries: int) -> npt.NDArray[Any]:
        """Read where each row begins: from 0 to the number of entries, never falling."""
        out = self.members.read(member, np.int64)
        if out[0] != 0 or out[-1] != n_entries or (np.diff(out) < 0).any():
            raise ValueError(f"{member.name!r} must rise from 0 to {n_entries:,}")
        return out if n_entries > LARGEST else out.astype(np.int32)

    def _compressed(self, kind: str) -> Any:
        starts, indices = self._indices("indptr"), self._indices("indices")
        n_major, n_minor = self.shape if kind == "csr" else self.shape[::-1]
        self._check_length([starts], entries=n_major + 1)
        self._check_length([indices, self.data], entries=indices.size)
        if len(self.data.shape) != 1:
            raise ValueError(f"'data' has {len(self.data.shape)} dimensions, expected 1")
        self._check_emptiness(kind)
        copies = 1 if kind == self.layout else 2
        self._ask(copies * 8 * indices.size + 12 * starts.size)
        begins = self._starts(starts, indices.size)
        longest = int(np.diff(begins).max(initial=0))
        if longest > n_minor and not self.add_duplicates:
            raise _doubled(self.path, longest - n_minor)

        def begin_rows(at: npt.NDArray[Any]) -> Any:
            return begins[np.searchsorted(begins, at)] == at

        parts = self._within(indices, n_minor, begin_rows), begins
        values = self.members.read(self.data, np.float32)
        make: Any = sp.csr_array if kind == "csr" else sp.csc_array
        return make((values, *parts), shape=self.shape)

    def _coordinates(self) -> Any:
        if "coords" in self.members:
            raise ValueError("it does not have two dimensions")
        rows, columns = self._indices("row"), self._indices("col")
        self._check_length([rows, columns, self.data], entries=self.data.size)
        self._check_emptiness()
        self._ask(2 * 12 * self.data.size)
        of_row = self._within(rows, self.shape[0])
        of_column = self._within(columns, self.shape[1], lambda at: of_row[at] != of_row[at - 1])
        places = of_row, of_column
        values = self.members.read(self.data, np.float32)
        return sp.coo_array((values, places), shape=self.shape)

    def _blocks(self) -> Any:
        starts, indices = self._indices("indptr"), self._indices("indices")
        height, width = (*self.data.shape[1:], 0, 0)[:2]
        if len(self.data.shape) != 3 or not height or not width:
            raise ValueError("'data' must be blocks of rows and columns")
        if self.shape[0] % height or self.shape[1] % width:
            raise ValueError(f"its shape cannot be cut into blocks of {height:,} x {width:,}")
        self._check_length([starts], entries=self.shape[0] // height + 1)
        self._check_length([indices, self.data], entries=indices.size)
        self._check_emptiness()
        self._check_inflation()
        self._ask(3 * 12 * self.data.size + 12 * starts.size)
        begins = self._starts(starts, indices.size)
        parts = self._within(indices, self.shape[1] // width), begins
        values = self.members.read(self.data, np.float32)
        return sp.bsr_array((values, *parts), shape=self.shape)

    def _diagonals(self) -> Any:
        offsets = self._indices("offsets")
        if len(self.data.shape) != 2:
            raise ValueError("'data' must have a row per diagonal")
        self._check_length([offsets, self.data], entries=offsets.size)
        self._check_emptiness()
        self._check_inflation()
        self._ask(3 * 12 * self.data.size + 64 * offsets.size)
        places = self.members.read(offsets, np.int64)
        n_rows, n_columns = self.shape
        if ((places <= -n_rows) | (places >= n_columns)).any():
            raise ValueError("a diagonal lies outside the matrix")
        if len(distinct(places)) != len(places):
            raise ValueError("a diagonal is listed twice")
        values = self.members.read(self.data, np.float32)
        return sp.dia_array((values, places), shape=self.shape)
