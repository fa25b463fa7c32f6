"""A pair of files of the extreme classification repository: features and labels apart.

::

    trn_X_Xf.txt       2 5              instances, features
                       1:0.5 4:2        feature:value of each instance
                       0:1
    trn_X_Y.txt        2 3              instances, labels
                       0:1.0 2:1.0      label:1 of each instance
                       1:1.0

The pair is named by its folder, of which ``trn_``, ``tst_`` (or another split) is read, or by
either file. Names come from ``lbl.jsonl`` and ``features.txt`` beside them, and filter pairs from
``filter_labels_train.txt`` and ``filter_labels_test.txt``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data.compression import open_write
from multitudes.data.dataset import Dataset
from multitudes.data.folders import SPLITS, NamesBeside, find_beside, split_of, write_names
from multitudes.data.formats.format import FEATURES, Format, features_of, lost_uids
from multitudes.data.formats.lf import filter_file_of, read_filter_file, write_filter_file
from multitudes.data.formats.sparse_text import ROWS_AT_ONCE, sparse_lines, without_zeros
from multitudes.data.formats.text_lines import first_lines
from multitudes.data.groups.files import with_groups
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.lines import Block, line_blocks
from multitudes.data.options import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.report import ErrorLog, ReadReport, excerpt
from multitudes.errors import DataError
from multitudes.progress import track

FEATURE_PART, LABEL_PART = "_X_Xf", "_X_Y"
_HEADER = re.compile(rb"[ \t]*([0-9]+)[ \t]+([0-9]+)[ \t\r]*")
_ENTRIES = re.compile(rb"\s*([0-9]+:[-+.0-9]\S*\s*)*")
MAX_ID = np.iinfo(np.int32).max


def read_xc_pair(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read features and labels. Bad lines cannot be skipped: rows of the two would not agree.

    Parameters
    ----------
    path : path
        The folder of the files, or either of them.
    options : ReadOptions
        The split, and `max_line_bytes`.
    labels : LabelSpace, optional
        The label space to read over.
    """
    x_path, y_path = find_xc_pair(Path(path), options.split)
    X = _read_matrix(x_path, options)
    Y = _read_matrix(y_path, options, of_labels=True)
    if X.shape[0] != Y.shape[0]:
        raise DataError(
            f"{x_path} has {X.shape[0]:,} instances and {y_path.name} {Y.shape[0]:,}; expected one "
            "line per instance in both: pair the files of one split"
        )
    taken = f"features: {x_path.name}, labels: {y_path.name}"
    dataset = dataclasses.replace(
        NamesBeside.of(x_path.parent).dataset(X, Y), report=ReadReport(taken=taken)
    )
    filter_file = filter_file_of(x_path.parent, split_of(_split_name(x_path)))
    if filter_file is not None:
        pairs = read_filter_file(filter_file, n_rows=len(dataset), n_labels=dataset.n_labels)
        dataset = dataclasses.replace(dataset, filter_pairs=pairs)
    dataset = with_groups(dataset, options, n_labels=dataset.n_labels)
    if labels is None:
        return dataset
    return relabel(dataset, labels, unknown_labels=options.unknown_labels, path=x_path)


def find_xc_pair(path: Path, split: str) -> tuple[Path, Path]:
    """Return the files of features and labels; an error says what was looked for."""
    if path.is_dir():
        names = SPLITS.get(split_of(split), (split,))
        for name in names:
            x_path = find_beside(path, [f"{name}{FEATURE_PART}.txt"])
            y_path = find_beside(path, [f"{name}{LABEL_PART}.txt"])
            if x_path is not None and y_path is not None:
                return x_path, y_path
        expected = f"{names[0]}{FEATURE_PART}.txt and {names[0]}{LABEL_PART}.txt"
        raise DataError(f"{path} has no pair for the split {split!r}; expected {expected}")
    stem = _split_name(path)
    x_path, y_path = (
        find_beside(path.parent, [f"{stem}{part}.txt"]) for part in (FEATURE_PART, LABEL_PART)
    )
    if x_path is None or y_path is None:
        raise DataError(
            f"{path} holds features or labels alone, a line per instance; expected a pair of "
            f"files, {stem}{FEATURE_PART}.txt and {stem}{LABEL_PART}.txt, in one folder: rename "
            "them so"
        )
    return x_path, y_path


def _split_name(path: Path) -> str:
    """Return what comes before the marks of the pair: ``trn`` of ``trn_X_Xf.txt.gz``."""
    name = path.name.partition(".")[0]
    return name.removesuffix(FEATURE_PART).removesuffix(LABEL_PART)


def _read_matrix(path: Path, options: ReadOptions, *, of_labels: bool = False) -> sp.csr_array[Any]:
    """Read one of the two files."""
    from multitudes.data.formats.sparse_parsing import Shape, SparseTextReader, announced_count

    reader: SparseTextReader | None = None
    for block in line_blocks(
        path, ErrorLog("strict"), max_line_bytes=options.max_line_bytes, block_bytes=1 << 22
    ):
        if reader is None:
            (n_rows, n_columns), block = _take_header(block, path, announced_count)
            # Columns are features to the parser, whichever they are.
            shape = Shape(n_rows, n_columns, 0)
            plain = dataclasses.replace(options, n_features=None, n_labels=None, first_feature=0)
            reader = SparseTextReader(path, plain, ErrorLog("strict"), shape, labeled=False)
        reader.feed(_in_order(block) if of_labels else block)
    if reader is None:
        raise DataError(f"{path} is empty; expected a header, e.g. 2 5, and a line per instance")
    matrix, _ = reader.matrices()
    if not of_labels:
        return matrix
    if (matrix.data < 0).any():
        raise DataError(f"{path} must hold 1 for each label, got {matrix.data.min():g}")
    matrix.eliminate_zeros()
    matrix.data[:] = 1
    return matrix


def _take_header(
    block: Block, path: Path, count: Callable[[bytes], int | None]
) -> tuple[tuple[int, int], Block]:
    line, _, rest = block.data.partition(b"\n")
    match = _HEADER.fullmatch(line)
    n_rows, n_columns = (count(match[1]), count(match[2])) if match else (None, None)
    if n_rows is None or n_columns is None:
        raise DataError(
            f"{path}:1: not a header (got {excerpt(line.decode(errors='replace'))}); expected the "
            f"numbers of instances and of columns, e.g. 2 5, at most {MAX_ID:,} of each"
        )
    return (n_rows, n_columns), Block(block.first_line + 1, rest)


def _in_order(block: Block) -> Block:
    """Return the block with the labels of each line sorted and listed once: any order will do."""
    lines = block.data.split(b"\n")
    for number, line in enumerate(lines):
        entries = dict.fromkeys(line.split())
        try:
            ordered = sorted(entries, key=lambda entry: int(entry.partition(b":")[0]))
        except ValueError:
            continue  # the parser says what is wrong
        lines[number] = b" ".join(ordered)
    return Block(block.first_line, b"\n".join(lines))


def write_xc_pair(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write the pair into a folder, or as the file that the path names and its other half.

    Names of labels and features go to ``lbl.jsonl`` and ``features.txt`` beside them, unless
    ``options.label_kind`` is "ids".
    """
    X = features_of(dataset, XC_PAIR.name)
    path = Path(path)
    if path.name.partition(".")[0].endswith((FEATURE_PART, LABEL_PART)):
        folder, name = path.parent, _split_name(path)
        suffix = "".join(path.suffixes[1:])
    else:
        folder, name = path, options.split
        suffix = "" if options.compression == "none" else f".{options.compression}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"cannot write into {folder}: {error.strerror or error}") from error
    if options.label_kind != "ids":
        write_names(dataset, folder)
    if dataset.filter_pairs is not None:
        split = {"trn": "train", "tst": "test"}.get(split_of(name), name)
        write_filter_file(dataset.filter_pairs, folder / f"filter_labels_{split}.txt{suffix}")
    _write_matrix(X, folder / f"{name}{FEATURE_PART}.txt{suffix}")
    _write_matrix(dataset.Y, folder / f"{name}{LABEL_PART}.txt{suffix}")


def _write_matrix(matrix: sp.csr_array[Any], path: Path) -> None:
    matrix = without_zeros(matrix)
    n_rows, n_columns = matrix.shape
    with open_write(path) as stream, track(f"writing {path.name}", n_rows, "lines") as task:
        stream.write(b"%d %d\n" % (n_rows, n_columns))
        for start in range(0, n_rows, ROWS_AT_ONCE):
            part = matrix[start : start + ROWS_AT_ONCE]
            no_labels: Any = sp.csr_array((part.shape[0], 1), dtype=np.float32)
            lines = sparse_lines(part, no_labels)
            stream.write((b"\n" + lines).replace(b"\n ", b"\n")[1:])
            task.advance(part.shape[0])


def _sniff(head: bytes) -> bool:
    lines = list(first_lines(head))
    if not lines or not _HEADER.fullmatch(lines[0]):
        return False
    return len(lines) > 1 and all(map(_ENTRIES.fullmatch, lines[1:]))


def _sniff_path(path: Path, split: str) -> bool:
    return path.is_dir() and any(path.glob(f"*{FEATURE_PART}.txt*"))


XC_PAIR = Format(
    name="xc-pair",
    summary="trn_X_Xf.txt and trn_X_Y.txt, features and labels apart",
    holds=FEATURES,
    sniff=_sniff,
    sniff_path=_sniff_path,
    read=read_xc_pair,
    write=write_xc_pair,
    loses=lambda dataset, options: lost_uids(dataset),
)
