"""Filter files of the LF layout: ``row label`` pairs to leave out of predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from multitudes.data.compression import open_write, peek
from multitudes.data.lines import Block, line_blocks
from multitudes.data.report import ErrorLog, excerpt
from multitudes.errors import DataError
from multitudes.types import IntArray

_MAX_LINE_BYTES = 1 << 12


def read_filter_file(path: Path, *, n_rows: int, n_labels: int) -> IntArray:
    """(row, label) pairs, an array (n_pairs, 2); an empty file has none.

    Rows are numbered from 0 as in the data file, its bad lines included.
    """
    pieces = [np.zeros((0, 2), np.int64)]
    if peek(path, 1):
        limits = np.array([n_rows, n_labels])
        for block in line_blocks(path, ErrorLog("raise"), max_line_bytes=_MAX_LINE_BYTES):
            pairs = _parse(block)
            if pairs is None or (pairs < 0).any() or (pairs >= limits).any():
                raise DataError(_problem(path, block, n_rows, n_labels))
            pieces.append(pairs)
    return np.concatenate(pieces)


def _parse(block: Block) -> IntArray | None:
    lines = block.data.removesuffix(b"\n").split(b"\n")
    tokens = [line.split() for line in lines]
    if any(len(pair) not in (0, 2) for pair in tokens):
        return None
    try:
        return (
            np.array([pair for pair in tokens if pair], dtype="S19").astype(np.int64).reshape(-1, 2)
        )
    except (ValueError, OverflowError):
        return None


def _problem(path: Path, block: Block, n_rows: int, n_labels: int) -> str:
    for number, line in enumerate(block.data.split(b"\n"), block.first_line):
        pair = line.split()
        sound = len(pair) == 2 and all(token.isdigit() for token in pair)
        if pair and not (sound and int(pair[0]) < n_rows and int(pair[1]) < n_labels):
            return (
                f"{path}:{number}: not a filter pair (got {excerpt(line.decode(errors='replace'))}"
                f"); expected 'row label' with rows below {n_rows:,} and labels below "
                f"{n_labels:,}: check that the file belongs to this split"
            )
    raise AssertionError("unreachable: the block was found bad")


def without_rows(pairs: IntArray, skipped_rows: list[int], n_rows: int) -> IntArray:
    """The pairs once the skipped rows are gone and those after them moved up."""
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
