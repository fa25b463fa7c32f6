"""CSR rows that grow while the sparse text kernel writes them, without a second copy."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.kernels.text import sparse_text as kernel


class SparseRows:
    """The growing CSR rows of X and Y that the kernel writes into."""

    def __init__(self) -> None:
        self.cursor = np.zeros(kernel.CURSOR_SLOTS, np.int64)
        self.cursor[[kernel.MAX_FEATURE, kernel.MAX_LABEL]] = -1
        self.feature_ends, self.label_ends = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self.feature_ids, self.label_ids = np.empty(0, np.int32), np.empty(0, np.int32)
        self.values = np.empty(0, np.float32)
        self.odd = np.empty((0, 3), np.int64)

    def make_room(self, data: bytes) -> None:
        """Grow the arrays to what a block can hold at most."""
        lines, commas, colons = kernel.count_marks(np.frombuffer(data, np.uint8))
        rows, entries, labels = self.cursor[[kernel.ROWS, kernel.ENTRIES, kernel.LABELS]]
        grow(self.feature_ends, rows + lines + 1)
        grow(self.label_ends, rows + lines + 1)
        grow(self.feature_ids, entries + colons)
        grow(self.values, entries + colons)
        grow(self.label_ids, labels + commas + lines)
        self.odd = np.empty((colons, 3), np.int64)
        self.cursor[[kernel.POSITION, kernel.LINES]] = 0

    def parse(self, data: bytes, limits: npt.NDArray[np.int64]) -> int:
        """Run the kernel to the end of the block or the next bad line."""
        self.cursor[kernel.ODD] = 0
        status = kernel.parse_lines(
            np.frombuffer(data, np.uint8),
            limits,
            self.feature_ends,
            self.label_ends,
            self.feature_ids,
            self.values,
            self.label_ids,
            self.odd,
            self.cursor,
        )
        for entry, start, end in self.odd[: self.cursor[kernel.ODD]]:
            self.values[entry] = nearest_float32(data[start:end].decode("ascii"))
        return int(status)

    def matrices(
        self, n_features: int | None, n_labels: int | None
    ) -> tuple[sp.csr_array[Any], sp.csr_array[Any]]:
        """X and Y; sizes that are not known are the largest id + 1."""
        rows, entries, labels = self.cursor[[kernel.ROWS, kernel.ENTRIES, kernel.LABELS]]
        for array in (self.feature_ids, self.values):
            array.resize(entries, refcheck=False)
        self.label_ids.resize(labels, refcheck=False)
        if n_features is None:
            n_features = int(self.cursor[kernel.MAX_FEATURE]) + 1
        if n_labels is None:
            n_labels = int(self.cursor[kernel.MAX_LABEL]) + 1
        X = csr_of(self.values, self.feature_ids, self.feature_ends[: rows + 1], n_features)
        Y = csr_of(
            np.ones(labels, np.float32), self.label_ids, self.label_ends[: rows + 1], n_labels
        )
        if not self.values.all():  # a tiny odd value became 0
            X.eliminate_zeros()
        if self.cursor[kernel.UNSORTED_LABELS]:
            Y.sum_duplicates()
            Y.data[:] = 1
        return X, Y


def nearest_float32(token: str) -> np.float32:
    """The float32 nearest to a decimal, even where the nearest double would mislead."""
    wide = float(token)
    near = np.float32(wide)
    with np.errstate(over="ignore"):  # past the largest float32 lies infinity, never chosen
        other = np.nextafter(near, np.float32(np.copysign(np.inf, wide - float(near))))
    if wide == float(near) or float(near) + float(other) != 2 * wide:
        return near
    # The double is the tie; whether the decimal is, or lies to one side, only exact numbers say.
    side = Fraction(Decimal(token)) - Fraction(wide)
    if side == 0:
        return near
    return max(near, other) if side > 0 else min(near, other)


def grow(array: npt.NDArray[Any], size: int) -> None:
    """Make room in place, a quarter more than asked: large arrays move without a copy."""
    if array.size < size:
        array.resize(max(size, array.size + array.size // 4), refcheck=False)


def csr_of(
    data: npt.NDArray[np.float32],
    ids: npt.NDArray[np.int32],
    ends: npt.NDArray[np.int64],
    n_columns: int,
) -> sp.csr_array[Any]:
    """A CSR array over `data` and `ids`; `ends` starts with 0, then has each row's end."""
    small = ends[-1] <= np.iinfo(np.int32).max
    ends = ends.astype(np.int32 if small else np.int64)
    return sp.csr_array((data, ids, ends), shape=(len(ends) - 1, n_columns))
