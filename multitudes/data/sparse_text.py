"""The sparse text format of the XMC repository, and headerless svmlight with several labels.

::

    2 5 3            instances, features, labels: the header, which may be absent
    0,2 1:0.5 4:2    labels, then feature:value with rising feature ids
     0:1             no labels: the line starts with a blank, or with its first feature

A blank line is an instance without labels and features where the file has a header, and nothing
where it has none. ``#`` starts a comment. A feature of value 0 is checked, then left out: X is the
same matrix without it. A label listed twice counts once. Names of labels and features are taken
from ``lbl.jsonl`` and ``features.txt`` beside the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import scipy.sparse as sp

from multitudes.data.compression import open_write
from multitudes.data.dataset import Dataset
from multitudes.data.feature_groups import with_groups
from multitudes.data.formats import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.lines import Block, line_blocks
from multitudes.data.names_beside import NamesBeside, write_names
from multitudes.data.report import ErrorLog
from multitudes.data.sparse_rows import SparseRows
from multitudes.errors import DataError
from multitudes.kernels.text import sparse_text as kernel
from multitudes.kernels.text.format_lines import format_lines
from multitudes.progress import track

BLOCK_BYTES = 1 << 22
ROWS_AT_ONCE = 10_000
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
    """What a file announces: None where it does not say."""

    n_rows: int | None
    n_features: int | None
    n_labels: int | None


def read_sparse_text(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read a sparse text file, with or without an ``N D L`` header.

    Without one the numbers of features and labels come from `options`, from the name files
    beside it, or from the largest ids. Memory is bounded by the result and one block of lines.

    Parameters
    ----------
    path : path
        The file, compressed or not.
    options : ReadOptions
        `n_features`, `n_labels`, `first_feature`, `on_error`, `max_line_bytes` matter here.
    labels : LabelSpace, optional
        The labels fixed beforehand.
    """
    path = Path(path)
    log = ErrorLog(options.on_error)
    reader: _Reader | None = None
    for block in line_blocks(
        path, log, max_line_bytes=options.max_line_bytes, block_bytes=BLOCK_BYTES
    ):
        if reader is None:
            header, block = _take_header(block, path)
            reader = _Reader(path, options, log, header)
        reader.feed(block)
    if reader is None:
        raise DataError(f"{path} holds no line within max_line_bytes ({options.max_line_bytes:,})")
    dataset = with_groups(reader.dataset(), options, n_labels=reader.n_labels)
    if labels is None:
        return dataset
    return relabel(dataset, labels, unknown_labels=options.unknown_labels)


def write_sparse_text(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write features and labels with an ``N D L`` header; values read back bit for bit.

    Names of labels and features go to ``lbl.jsonl`` and ``features.txt`` beside the file, unless
    ``options.label_kind`` is "ids".
    """
    path = Path(path)
    X, Y = _matrices_to_write(dataset, path)
    if options.label_kind != "ids":
        write_names(dataset, path.parent)
    with open_write(path) as stream, track(f"writing {path.name}", len(dataset), "lines") as task:
        stream.write(b"%d %d %d\n" % (*X.shape, Y.shape[1]))
        for start in range(0, len(dataset), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            stream.write(_lines(X[rows], Y[rows]))
            task.advance(min(ROWS_AT_ONCE, len(dataset) - start))


def _take_header(block: Block, path: Path) -> tuple[Shape, Block]:
    """The announced shape, and the block without the header line."""
    line, _, rest = block.data.partition(b"\n")
    match = HEADER.fullmatch(line)
    if not match:
        return Shape(None, None, None), block
    counts = [int(count) for count in match.groups()]
    if max(counts[1:]) > MAX_ID:
        raise DataError(
            f"{path}:1: the header announces too many features or labels (got {_shown(line)}); "
            f"expected at most {MAX_ID:,} of each"
        )
    return Shape(*counts), Block(block.first_line + 1, rest)


def _shown(token: bytes) -> str:
    """A token for a message, cut short, its odd bytes escaped."""
    text = token.decode("ascii", "backslashreplace")
    return repr(text[:N_SHOWN]) + ("..." if len(text) > N_SHOWN else "")


class _Reader:
    """Feeds blocks to the kernel, and turns the place where it stops into a message."""

    def __init__(self, path: Path, options: ReadOptions, log: ErrorLog, header: Shape) -> None:
        self.path, self.log, self.header = path, log, header
        self.first_feature = options.first_feature
        self.names = NamesBeside.of(path.parent)
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
        """What was read; the header's number of instances is checked here."""
        n_rows = int(self.rows.cursor[kernel.ROWS])
        if self.header.n_rows is not None and n_rows + self.log.skipped != self.header.n_rows:
            raise DataError(
                f"{self.path}: the header announces {self.header.n_rows:,} instances, but the file "
                f"holds {n_rows + self.log.skipped:,}: copy it again if it was cut short, or "
                "correct the header"
            )
        if self.header.n_rows is None and n_rows + self.log.skipped == 0:
            raise DataError(f"{self.path} holds no instances; expected lines like '3,17 0:1.5 4:2'")
        X, Y = self.rows.matrices(self.n_features, self.n_labels)
        return replace(self.names.dataset(X, Y), report=self.log.report())


def _matrices_to_write(dataset: Dataset, path: Path) -> tuple[sp.csr_array[Any], sp.csr_array[Any]]:
    """X and Y without stored zeros; an error where the format cannot hold them."""
    if dataset.X is None:
        raise DataError(
            f"cannot write texts to {path} as sparse-text, which holds features; expected a "
            "Dataset with X: turn the texts into features first, or write a format of texts"
        )
    X, Y = (matrix.copy() if 0 in matrix.data else matrix for matrix in (dataset.X, dataset.Y))
    X.eliminate_zeros()
    Y.eliminate_zeros()
    if not (Y.data == 1).all():
        weight = Y.data[Y.data != 1][0]
        raise DataError(
            f"cannot write Y to {path}: the format holds labels without weights (got {weight}); "
            "expected 1 for each label of an instance"
        )
    return X, Y


def _lines(X: sp.csr_array[Any], Y: sp.csr_array[Any]) -> bytes:
    # orjson writes the shortest decimal that reads back as the same float32.
    values = orjson.dumps(X.data, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1] + b","
    values = values.replace(b".0,", b",")
    out = np.empty(len(values) + 12 * (X.nnz + Y.nnz) + 2 * X.shape[0], np.uint8)
    n_bytes = format_lines(
        X.indptr, X.indices, np.frombuffer(values, np.uint8), Y.indptr, Y.indices, out
    )
    return out[:n_bytes].tobytes()
