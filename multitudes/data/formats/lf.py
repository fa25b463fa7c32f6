"""The LF layout: a folder with a file per split, one of labels, and filter pairs.

::

    trn.jsonl  tst.jsonl  [dev.jsonl]     {"uid", "title", "content", "labels": [label ids]}
    lbl.jsonl                             {"uid", "title"}, line number = label id
    filter_labels_train.txt  _test.txt    row and label to leave out of predictions

Any of them may be ``.json`` instead of ``.jsonl`` and compressed; ``labels`` may be called
``target_ind``. A single file of such a folder is read as a part of it too.
"""

from __future__ import annotations

import dataclasses
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from multitudes.data.compression import open_write, peek, uncompressed_stem
from multitudes.data.dataset import Dataset
from multitudes.data.folders import (
    find_beside,
    find_label_file,
    find_split,
    read_label_file,
    split_of,
    write_label_file,
)
from multitudes.data.formats.format import TEXTS, Format, texts_of
from multitudes.data.formats.json_lines import JSON_LINES, JsonLinesReader, write_records
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.lines import Block, line_blocks
from multitudes.data.options import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.report import ErrorLog, excerpt
from multitudes.errors import DataError
from multitudes.types import IntArray

FILTER_NAMES = {"trn": "train", "tst": "test"}
_MAX_FILTER_BYTES = 1 << 12
ID_DIGITS = 18  # digits of a row or label in a filter file: all fit int64


def read_lf(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read one split of a folder in the LF layout, with its labels and filter pairs.

    Parameters
    ----------
    path : path
        The folder, of which `options.split` is read, or one file of it.
    options : ReadOptions
        The split, names of fields, and what to do with bad lines.
    labels : LabelSpace, optional
        The label space to read over; the folder's labels are matched to it by name.
    """
    path = Path(path)
    file = path
    if path.is_dir():
        file = find_split(path, options.split, JSON_LINES.suffixes)
    label_file = find_label_file(file.parent)
    space = None if label_file is None else read_label_file(label_file)
    # A file of names beside a label file numbers its own names: ids alone refer to lines. With a
    # file of groups both mean the label file's, whichever of names and ids either of them has.
    grouped = options.group_labels is not None and space is not None
    numbering = LabelNumbering(options, space, for_ids_only=not grouped)
    of_groups = LabelNumbering(options, space) if grouped else None
    reader = JsonLinesReader(file, options, numbering, of_groups)
    dataset = reader.read()
    filter_file = filter_file_of(file.parent, split_of(uncompressed_stem(file)))
    if filter_file is not None and numbering.kind != "names":
        pairs = read_filter_file(filter_file, n_rows=reader.n_rows, n_labels=dataset.n_labels)
        if reader.skipped_rows:
            pairs = without_rows(pairs, reader.skipped_rows, reader.n_rows)
        dataset = dataclasses.replace(dataset, filter_pairs=pairs)
    if labels is None:
        return dataset
    return relabel(dataset, labels, unknown_labels=options.unknown_labels, path=file)


def filter_file_of(folder: Path, split: str) -> Path | None:
    """Return the file of the pairs to leave out for a split; None if there is no such file."""
    return find_beside(folder, [f"filter_labels_{FILTER_NAMES.get(split, split)}.txt"])


def write_lf(dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE) -> None:
    """Write one split into a folder, which is created if it does not exist.

    The text goes to ``title``, labels are ids. The label file is written with the first split;
    a later one must have the same labels.
    """
    texts = texts_of(dataset, LF.name)
    folder = Path(path)
    suffix = "" if options.compression == "none" else f".{options.compression}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    write_label_file(dataset, folder, suffix)
    if dataset.filter_pairs is not None:
        name = FILTER_NAMES.get(options.split, options.split)
        write_filter_file(dataset.filter_pairs, folder / f"filter_labels_{name}.txt{suffix}")

    def record(row: int, labels: list[Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {} if dataset.uids is None else {"uid": dataset.uids[row]}
        fields |= {"title": texts[row], "content": "", "labels": labels}
        if dataset.groups is not None:
            fields["group"] = dataset.group_names_of(row)
        return fields

    write_records(dataset, folder / f"{options.split}.jsonl{suffix}", record, as_names=False)


# Filter files ----------------------------------------------------------------------------------


def read_filter_file(path: Path, *, n_rows: int, n_labels: int) -> IntArray:
    """Read (row, label) pairs into an array (n_pairs, 2); an empty file has none.

    Rows are numbered from 0 as in the data file, its bad lines included.
    """
    pieces = [np.zeros((0, 2), np.int64)]
    if peek(path, 1):
        limits = np.array([n_rows, n_labels])
        for block in line_blocks(path, ErrorLog("strict"), max_line_bytes=_MAX_FILTER_BYTES):
            pairs = _parse_pairs(block)
            if pairs is None or (pairs < 0).any() or (pairs >= limits).any():
                raise DataError(_pair_problem(path, block, n_rows, n_labels))
            pieces.append(pairs)
    return np.concatenate(pieces)


def _parse_pairs(block: Block) -> IntArray | None:
    lines = block.data.removesuffix(b"\n").split(b"\n")
    pairs = [line.split() for line in lines]
    if any(len(pair) not in (0, 2) for pair in pairs):
        return None
    tokens = list(chain.from_iterable(pairs))
    # Signs are no part of a row or label, and longer numbers would be cut off below.
    if not all(map(bytes.isdigit, tokens)) or len(max(tokens, key=len, default=b"")) > ID_DIGITS:
        return None
    return np.array(tokens, dtype=f"S{ID_DIGITS}").astype(np.int64).reshape(-1, 2)


def _pair_problem(path: Path, block: Block, n_rows: int, n_labels: int) -> str:
    for number, line in enumerate(block.data.split(b"\n"), block.first_line):
        pair = line.split()
        sound = len(pair) == 2 and all(t.isdigit() and len(t) <= ID_DIGITS for t in pair)
        if pair and not (sound and int(pair[0]) < n_rows and int(pair[1]) < n_labels):
            return (
                f"{path}:{number}: not a filter pair (got {excerpt(line.decode(errors='replace'))}"
                f"); expected 'row label' with rows below {n_rows:,} and labels below "
                f"{n_labels:,}: check that the file belongs to this split"
            )
    raise AssertionError("unreachable: the block was found bad")


def without_rows(pairs: IntArray, skipped_rows: list[int], n_rows: int) -> IntArray:
    """Return the pairs once the skipped rows are gone and those after them moved up."""
    kept = np.ones(n_rows, bool)
    kept[skipped_rows] = False
    new_row = np.cumsum(kept) - 1
    pairs = pairs[kept[pairs[:, 0]]]
    return np.stack([new_row[pairs[:, 0]], pairs[:, 1]], axis=1)


def write_filter_file(pairs: IntArray, path: Path) -> None:
    """Write the pairs, one per line."""
    with open_write(path) as stream:
        for start in range(0, len(pairs), 100_000):
            rows = pairs[start : start + 100_000].tolist()
            stream.write("".join(f"{row} {label}\n" for row, label in rows).encode())


LF = Format(
    name="lf",
    summary="a folder with trn, tst and lbl as JSON lines, and filter files",
    holds=TEXTS,
    holds_groups=True,
    read=read_lf,
    write=write_lf,
)
