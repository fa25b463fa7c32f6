"""The sparse text format of the XMC repository, and headerless svmlight with several labels.

::

    2 5 3            instances, features, labels: the header, which is optional
    0,2 1:0.5 4:2    labels, then feature:value with rising feature ids
     0:1             no labels: the line starts with a blank, or with its first feature

A blank line is an instance without labels and features if the file has a header, and is ignored
if not. ``#`` starts a comment. A feature of value 0 is checked, then left out: X is the
same matrix without it. A label listed twice counts once. Names of labels and features are taken
from ``lbl.jsonl`` and ``features.txt`` beside the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import scipy.sparse as sp

from multitudes.data.compression import open_write
from multitudes.data.dataset import Dataset
from multitudes.data.folders import write_names
from multitudes.data.formats.format import FEATURES, Format, features_of, lost_uids
from multitudes.data.groups.files import with_groups
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.lines import line_blocks
from multitudes.data.options import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.report import ErrorLog
from multitudes.errors import DataError
from multitudes.progress import track
from multitudes.types import Sparse

BLOCK_BYTES = 1 << 22
ROWS_AT_ONCE = 10_000
_HEADER = re.compile(rb"[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+\s*$")
_LINE = re.compile(rb"\s*([0-9]+(,[0-9]+)*)?(\s+|^)[0-9]+:[-+.0-9]\S*(\s|$)")


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
        The label space to read over.
    """
    from multitudes.data.formats.sparse_parsing import SparseTextReader, take_header

    path = Path(path)
    log = ErrorLog(options.on_error)
    reader: SparseTextReader | None = None
    for block in line_blocks(
        path, log, max_line_bytes=options.max_line_bytes, block_bytes=BLOCK_BYTES
    ):
        if reader is None:
            header, block = take_header(block, path)
            reader = SparseTextReader(path, options, log, header)
        reader.feed(block)
    if reader is None:
        raise DataError(f"{path} holds no line within max_line_bytes ({options.max_line_bytes:,})")
    dataset = with_groups(reader.dataset(), options, n_labels=reader.n_labels)
    if labels is None:
        return dataset
    return relabel(dataset, labels, unknown_labels=options.unknown_labels, path=path)


def write_sparse_text(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write features and labels with an ``N D L`` header; values read back bit for bit.

    Names of labels and features go to ``lbl.jsonl`` and ``features.txt`` beside the file, unless
    ``options.label_kind`` is "ids".
    """
    path = Path(path)
    X, Y = without_zeros(features_of(dataset, SPARSE_TEXT.name)), without_zeros(dataset.Y)
    _check_weights(Y, path)
    if options.label_kind != "ids":
        write_names(dataset, path.parent)
    with open_write(path) as stream, track(f"writing {path.name}", len(dataset), "lines") as task:
        stream.write(b"%d %d %d\n" % (*X.shape, Y.shape[1]))
        for start in range(0, len(dataset), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            stream.write(sparse_lines(X[rows], Y[rows]))
            task.advance(min(ROWS_AT_ONCE, len(dataset) - start))


def without_zeros(matrix: Sparse) -> Sparse:
    """Return the matrix without stored zeros; copied only if it has any."""
    if 0 in matrix.data:
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def _check_weights(Y: Sparse, path: Path) -> None:
    if not (Y.data == 1).all():
        weight = Y.data[Y.data != 1][0]
        raise DataError(
            f"cannot write Y to {path}: the format holds labels without weights (got {weight}); "
            "expected 1 for each label of an instance"
        )


def sparse_lines(X: sp.csr_array[Any], Y: sp.csr_array[Any]) -> bytes:
    """Return a line per instance: label ids, then feature:value."""
    from multitudes.kernels.text.format_lines import format_lines

    # orjson writes the shortest decimal that reads back as the same float32.
    values = orjson.dumps(X.data, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1] + b","
    values = values.replace(b".0,", b",")
    out = np.empty(len(values) + 12 * (X.nnz + Y.nnz) + 2 * X.shape[0], np.uint8)
    n_bytes = format_lines(
        X.indptr, X.indices, np.frombuffer(values, np.uint8), Y.indptr, Y.indices, out
    )
    return out[:n_bytes].tobytes()


def _sniff(head: bytes) -> bool:
    first = next((line for line in head.split(b"\n")[:20] if line.strip()), b"")
    return bool(_HEADER.match(first) or _LINE.match(first))


SPARSE_TEXT = Format(
    name="sparse-text",
    summary="sparse features, 'labels feature:value ...' per line, with or without header",
    suffixes=(".txt", ".svm", ".libsvm", ".svmlight"),
    holds=FEATURES,
    sniff=_sniff,
    read=read_sparse_text,
    write=write_sparse_text,
    loses=lambda dataset, options: lost_uids(dataset),
)
