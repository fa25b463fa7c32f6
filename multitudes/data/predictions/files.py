"""Prediction files: one JSON line per instance, its labels best first.

::

    {"uid": "q7", "labels": [{"label": "belts", "score": 0.93}, {"label": "leather", "score": 0.4}]}
    {"row": 1, "labels": []}

An instance is known by its uid, or by its row if the data has no uids. Tables with a row per label
are read as well (see `multitudes.data.predictions.writing`), and what other programs write: lines
whose labels are plain names or ids, (label, score) pairs, a SciPy ``.npz`` of scores (n_instances,
n_labels), and any format that `read_dataset` knows, whose labels then count as a set without order.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from multitudes.data.compression import open_bytes, reading
from multitudes.data.lines import line_blocks
from multitudes.data.predictions.tables import is_prediction_table, read_prediction_table
from multitudes.data.reading import read_dataset
from multitudes.data.report import ErrorLog, excerpt
from multitudes.data.sparse_files import read_sparse
from multitudes.errors import DataError
from multitudes.types import FloatArray, LabelArray, Predictions

MAX_LINE_BYTES = 1 << 26


@dataclass(frozen=True)
class PredictionFile:
    """Predictions as a file holds them, before they meet a label space.

    Parameters
    ----------
    path : Path
    counts : int64 array (n_rows,)
        How many labels each row has.
    labels : int32 array (sum of counts,)
        Positions in `names`; label ids if `names` is None.
    scores : float32 array (sum of counts,)
    names : list of str, or None
    uids : list of str, or None
    ordered : bool
        Whether labels stand best first; False for formats that hold sets.
    """

    path: Path
    counts: npt.NDArray[np.int64]
    labels: LabelArray
    scores: FloatArray
    names: list[str] | None
    uids: list[str] | None = None
    ordered: bool = True

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def of(
        cls, blocks: Iterable[Predictions], names: Sequence[str], *, path: Path = Path("model")
    ) -> PredictionFile:
        """Return predictions as if they had been written by a model that calls labels `names`.

        Parameters
        ----------
        blocks : iterable of Predictions
            Some instances after the other.
        path : Path
            What messages call them.
        """
        counts, labels, scores = [], [], []
        for block in blocks:
            listed = block.labels >= 0
            counts.append(listed.sum(axis=1).astype(np.int64))
            labels.append(block.labels[listed])
            scores.append(block.scores[listed])
        return cls(
            path,
            np.concatenate(counts),
            np.concatenate(labels),
            np.concatenate(scores),
            names=list(names),
        )


def read_prediction_file(path: str | PathLike[str], *, format: str | None = None) -> PredictionFile:
    """Read predictions in any of the formats above, recognized by their content."""
    with reading(path):
        return _read(Path(path), format)


def _read(path: Path, format: str | None) -> PredictionFile:
    if format not in (None, "json-lines"):
        return _from_dataset(path, format)
    if path.is_dir():
        return _from_dataset(path, None)
    with open_bytes(path) as stream:
        start = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"{"):
        return _read_json_lines(path)
    if start.startswith(b"PK") and format is None:
        return _read_npz(path)
    if is_prediction_table(path):
        return PredictionFile(path, **read_prediction_table(path)._asdict())
    return _from_dataset(path, None)


@dataclass
class _Gathered:
    """Rows of a JSON lines file, as compact arrays."""

    counts: array[int] = field(default_factory=lambda: array("q"))
    labels: array[int] = field(default_factory=lambda: array("i"))
    scores: array[float] = field(default_factory=lambda: array("f"))
    index: dict[str, int] = field(default_factory=dict)
    uids: list[str] = field(default_factory=list)
    kinds: set[type] = field(default_factory=set)

    def add(self, record: Any) -> None:
        """Append one line; a ValueError says what is wrong with it."""
        if not isinstance(record, dict) or not isinstance(record.get("labels"), list):
            raise ValueError('expected an object with a list, {"labels": [...]}')
        if "row" in record and record["row"] != len(self.counts):
            raise ValueError(
                f"row {excerpt(record['row'])} stands where row {len(self.counts)} should"
            )
        if ("uid" in record) != (len(self.uids) == len(self.counts)) and self.counts:
            raise ValueError("some lines have a uid and some have none")
        if "uid" in record:
            self.uids.append(str(record["uid"]))
        for rank, entry in enumerate(record["labels"]):
            self._add_label(entry, rank)
        self.counts.append(len(record["labels"]))

    def _add_label(self, entry: Any, rank: int) -> None:
        label, score = entry, -float(rank)
        if isinstance(entry, dict) and "label" in entry:
            label, score = entry["label"], entry.get("score", score)
        elif isinstance(entry, list) and len(entry) == 2:
            label, score = entry
        if type(label) not in (str, int) or type(score) not in (int, float):
            raise ValueError(
                f'expected a label as {{"label": ..., "score": ...}}, got {excerpt(entry)}'
            )
        self.kinds.add(type(label))
        if len(self.kinds) > 1:
            raise ValueError(
                f"labels are names in some places and ids in others, here {excerpt(label)}"
            )
        if isinstance(label, str):
            label = self.index.setdefault(label, len(self.index))
        self.labels.append(label)
        self.scores.append(score)


def _read_json_lines(path: Path) -> PredictionFile:
    gathered = _Gathered()
    for number, line in _numbered_lines(path):
        try:
            gathered.add(orjson.loads(line))
        except (ValueError, OverflowError) as error:
            shown = line[:80].decode("utf-8", "replace")
            raise DataError(f"{path}:{number}: {error}; the line is {shown!r}") from error
    return PredictionFile(
        path,
        np.array(gathered.counts, np.int64),
        np.array(gathered.labels, np.int32),
        np.array(gathered.scores, np.float32),
        names=None if gathered.kinds == {int} else list(gathered.index),
        uids=gathered.uids or None,
    )


def _numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(line number, line) of every line that is not blank."""
    for block in line_blocks(path, ErrorLog("raise"), max_line_bytes=MAX_LINE_BYTES):
        for offset, line in enumerate(block.data.split(b"\n")):
            if line.strip():
                yield block.first_line + offset, line


def _read_npz(path: Path) -> PredictionFile:
    scores = read_sparse(path)
    rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, rows))
    return PredictionFile(
        path,
        np.diff(scores.indptr).astype(np.int64),
        scores.indices[order].astype(np.int32),
        scores.data[order].astype(np.float32),
        names=None,
    )


def _from_dataset(path: Path, format: str | None) -> PredictionFile:
    dataset = read_dataset(path, format=format)
    names = dataset.label_names
    return PredictionFile(
        path,
        np.diff(dataset.Y.indptr).astype(np.int64),
        dataset.Y.indices.astype(np.int32),
        dataset.Y.data.astype(np.float32),
        names=None if names is None else list(names),
        uids=None if dataset.uids is None else list(dataset.uids),
        ordered=False,
    )
