"""Parse sparse text: the compiled kernel fills CSR rows that grow in place, block by block.

Apart from `sparse_text`, because it imports the kernels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.data.dataset import Dataset
from multitudes.data.folders import NamesBeside
from multitudes.data.label_numbering import check_largest
from multitudes.data.lines import Block
from multitudes.data.options import ReadOptions
from multitudes.data.report import ErrorLog
from multitudes.errors import DataError
from multitudes.kernels.text import sparse_text as kernel

MAX_ID = np.iinfo(np.int32).max
N_SHOWN = 40  # characters of an offending token in a message
HEADER = re.compile(rb"[ \t]*([0-9]+)[ \t]+([0-9]+)[ \t]+([0-9]+)[ \t\r]*")
PROBLEMS = {
    kernel.BAD_FEATURE: ("not a feature", "expected feature:value, e.g. 12:0.5, with an id >= 0"),
    kernel.BAD_VALUE: ("not a finite number", "expected feature:value, e.g. 12:0.5 or 12:1e-3"),
    kernel.VALUE_RANGE: ("the value is too large for float32", "expected at most 3.4e38"),
    kernel.FEATURE_ORDER: (
        "feature ids must rise within a line",
        "expected an id above the one before it: sort each line",
    ),
    kernel.FEATURE_TWICE: (
        "a feature id is listed twice in one line",
        "expected each id once: add or choose among its values",
    ),
}


@dataclass(frozen=True)
class Shape:
    """The sizes that a file announces; None if it has no header."""

    n_rows: int | None
    n_features: int | None
    n_labels: int | None


def take_header(block: Block, path: Path) -> tuple[Shape, Block]:
    """Return the announced shape, and the block without the header line."""
    line, _, rest = block.data.partition(b"\n")
    match = HEADER.fullmatch(line)
    if not match:
        return Shape(None, None, None), block
    announced = [announced_count(count) for count in match.groups()]
    counts = [count for count in announced if count is not None]
    if len(counts) < len(announced):
        raise DataError(
            f"{path}:1: the header announces too many instances, features or labels (got "
            f"{_shown(line)}); expected at most {MAX_ID:,} of each"
        )
    return Shape(*counts), Block(block.first_line + 1, rest)


def announced_count(digits: bytes) -> int | None:
    """Return a number that a header announces; None if no matrix could be so large."""
    short = digits.lstrip(b"0") or b"0"
    count = int(short) if len(short) <= len(str(MAX_ID)) else MAX_ID + 1
    return count if count <= MAX_ID else None


class SparseTextReader:
    """Feeds blocks to the kernel, and turns the place where it stops into a message.

    With ``labeled=False`` lines have no labels, and the files of names beside it are not its own.
    """

    def __init__(
        self,
        path: Path,
        options: ReadOptions,
        log: ErrorLog,
        header: Shape,
        *,
        labeled: bool = True,
    ) -> None:
        self.path, self.log, self.header, self.labeled = path, log, header, labeled
        self.first_feature = options.first_feature
        self.names = NamesBeside.of(path.parent) if labeled else NamesBeside()
        self.n_features = self._size("features", header.n_features, options.n_features)
        self.n_labels = self._size("labels", header.n_labels, options.n_labels)
        if self.n_features is None and self.names.features is not None:
            self.n_features = len(self.names.features)
        if self.n_labels is None and self.names.labels is not None:
            self.n_labels = len(self.names.labels)
        self.rows = SparseRows()

    def _size(self, what: str, announced: int | None, asked: int | None) -> int | None:
        if announced is not None and asked is not None and announced != asked:
            raise DataError(
                f"{self.path}:1: the header announces {announced:,} {what}, but n_{what}={asked:,} "
                f"was asked for: leave n_{what} out, or correct the header"
            )
        return asked if announced is None else announced

    def feed(self, block: Block) -> None:
        """Parse the block's lines; bad ones go to the log."""
        if not block.data:  # nothing came with the header
            return
        data = block.data if block.data.endswith(b"\n") else block.data + b"\n"
        self.rows.make_room(data)
        while (status := self.rows.parse(data, self._limits())) != kernel.DONE:
            line = block.first_line + int(self.rows.cursor[kernel.LINES]) - 1
            start, end = self.rows.cursor[[kernel.TOKEN_START, kernel.TOKEN_END]]
            self._bad_line(status, line, data[start:end])

    def _limits(self) -> npt.NDArray[np.int64]:
        n_rows = self.header.n_rows
        has_header = int(n_rows is not None)
        return np.array(
            [
                MAX_ID if self.n_features is None else self.n_features,
                MAX_ID if self.n_labels is None else self.n_labels,
                self.first_feature,
                has_header,
                np.iinfo(np.int64).max if n_rows is None else n_rows - self.log.skipped,
            ],
            np.int64,
        )

    def _bad_line(self, status: int, line: int, token: bytes) -> None:
        place = f"{self.path}:{line}"
        if status == kernel.SURPLUS:
            raise DataError(
                f"{place}: more lines than the header announces (got {self.header.n_rows:,} and "
                f"this one, starting with {_shown(token)}): correct the header"
            )
        self.log.bad_line(f"{place}: {self._problem(status, token)}")

    def _problem(self, status: int, token: bytes) -> str:
        got = f"(got {_shown(token)})"
        first, features, labels = self.first_feature, self.n_features, self.n_labels
        source = "the header" if self.header.n_rows is not None else "the setting"
        if not self.labeled and status in (kernel.BAD_LABEL, kernel.LABEL_RANGE):
            status = kernel.BAD_FEATURE
        if status == kernel.BAD_LABEL:
            hint = "" if self.header.n_rows is not None else ", or a header 'N D L' in line 1"
            return f"not a list of label ids {got}; expected e.g. 3,17,254{hint}"
        if status == kernel.LABEL_RANGE:
            allowed = MAX_ID if labels is None else labels
            return (
                f"a label id is out of range {got}; {source} allows 0 to {allowed - 1:,}: "
                "correct the line, or the number of labels"
            )
        if status == kernel.FEATURE_RANGE:
            last = (MAX_ID if features is None else features) - 1 + first
            return (
                f"the feature id is out of range {got}; {source} allows {first} to {last:,}: "
                "correct the line, the number of features, or first_feature"
            )
        return f"{PROBLEMS[status][0]} {got}; {PROBLEMS[status][1]}"

    def dataset(self) -> Dataset:
        """Return what was read, after checking the header's number of instances."""
        X, Y = self.matrices()
        return replace(self.names.dataset(X, Y), report=self.log.report())

    def matrices(self) -> tuple[sp.csr_array[Any], sp.csr_array[Any]]:
        """Return X and Y, after checking the header's number of instances."""
        n_rows = int(self.rows.cursor[kernel.ROWS])
        if self.header.n_rows is not None and n_rows + self.log.skipped != self.header.n_rows:
            raise DataError(
                f"{self.path}: the header announces {self.header.n_rows:,} instances, but the file "
                f"holds {n_rows + self.log.skipped:,}: copy it again if it was cut short, or "
                "correct the header"
            )
        if self.header.n_rows is None and n_rows + self.log.skipped == 0:
            raise DataError(f"{self.path} holds no instances; expected lines like '3,17 0:1.5 4:2'")
        if self.n_labels is None:
            largest, n_ids = self.rows.cursor[[kernel.MAX_LABEL, kernel.LABELS]]
            check_largest(int(largest), int(n_ids), self.path)
        return self.rows.matrices(self.n_features, self.n_labels)


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
        """Return X and Y; unknown sizes are the largest id + 1."""
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
    """Return the float32 nearest to a decimal, even if the nearest double would mislead."""
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
    """Return a CSR array over `data` and `ids`; `ends` starts with 0, then has each row's end."""
    small = ends[-1] <= np.iinfo(np.int32).max
    ends = ends.astype(np.int32 if small else np.int64)
    return sp.csr_array((data, ids, ends), shape=(len(ends) - 1, n_columns))


def _shown(token: bytes) -> str:
    """Return a token for a message, cut short, its odd bytes escaped."""
    text = token.decode("ascii", "backslashreplace")
    return repr(text[:N_SHOWN]) + ("..." if len(text) > N_SHOWN else "")
