"""Predictions to a file: a JSON line per instance, or a table with a row per label.

A table has the columns ``uid`` (or ``row``, for data without uids), ``rank`` from 1, ``label`` and
``score``; with titles, ``title`` stands behind ``label``. An instance without labels has one row
whose other cells are empty, so that no instance is lost. `read_prediction_file` reads all of them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import orjson

from multitudes.data.compression import SUFFIXES, encoding_checked, uncompressed_suffix
from multitudes.errors import ConfigError, require
from multitudes.types import FloatArray

FORMATS: dict[str, tuple[str, ...]] = {
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
}
"""Formats of prediction files, and the suffixes that choose them."""

ROWS_PER_GROUP = 100_000  # of a Parquet file


class TaggedInstance(NamedTuple):
    """The predictions of one instance, best first.

    Parameters
    ----------
    instance : str or int
        Its uid, or its row if the data has no uids.
    labels : sequence of str
    scores : float32 array (n_labels,)
    titles : sequence of str, optional
        What people call the labels, if their names are e.g. URIs.
    """

    instance: str | int
    labels: Sequence[str]
    scores: FloatArray
    titles: Sequence[str] | None = None


class PredictionWriter(Protocol):
    """What writes instances, one after the other."""

    def write(self, tagged: TaggedInstance) -> None:
        """Write one instance."""


def prediction_format(path: str | Path, name: str | None = None) -> str:
    """Return the format of a prediction file: by name, or by its suffix; JSON lines for none."""
    known = ", ".join(FORMATS)
    if name is not None:
        if name not in FORMATS:
            raise ConfigError(f"predictions are written as one of {known}, got {name!r}")
        return name
    suffix = uncompressed_suffix(path)
    if not suffix:
        return "jsonl"
    for format, suffixes in FORMATS.items():
        if suffix in suffixes:
            return format
    listed = ", ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)
    raise ConfigError(
        f"cannot tell from {suffix!r} how to write {path}: predictions have a suffix of {listed}, "
        f"and one of {', '.join(SUFFIXES)} behind it to compress them; or name the format with "
        "--output-format"
    )


@contextmanager
def prediction_writer(
    out: BinaryIO, format: str = "jsonl", *, has_uids: bool, has_titles: bool = False
) -> Iterator[PredictionWriter]:
    """Yield what writes predictions to a stream; the file is complete at the end.

    Parameters
    ----------
    out : binary stream
    format : "jsonl", "csv", "tsv" or "parquet"
    has_uids : bool
        Whether instances are known by uid; else by row.
    has_titles : bool
        Whether labels have titles beside their names.
    """
    key = "uid" if has_uids else "row"
    with encoding_checked("the predictions"):
        if format == "jsonl":
            yield _JsonLines(out, key)
        elif format == "parquet":
            writer = _Parquet(out, key, has_titles)
            try:
                yield writer
            finally:
                writer.close()
        else:
            yield _Delimited(out, key, has_titles, "," if format == "csv" else "\t")


def columns(key: str, has_titles: bool) -> list[str]:
    """Return the names of a table's columns."""
    return [key, "rank", "label", *(["title"] if has_titles else []), "score"]


class _JsonLines:
    def __init__(self, out: BinaryIO, key: str) -> None:
        self.out, self.key = out, key

    def write(self, tagged: TaggedInstance) -> None:
        names = ("label", "score") if tagged.titles is None else ("label", "title", "score")
        cells = (tagged.labels, tagged.titles, tagged.scores)
        filled = [cell for cell in cells if cell is not None]
        tags = [dict(zip(names, row, strict=True)) for row in zip(*filled, strict=True)]
        # numpy's float32 scalars are written with the few digits that float32 needs.
        record = {self.key: tagged.instance, "labels": tags}
        self.out.write(orjson.dumps(record, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


class _Delimited:
    """CSV as in RFC 4180, but with plain line ends; TSV quoted in the same way."""

    def __init__(self, out: BinaryIO, key: str, has_titles: bool, delimiter: str) -> None:
        self.out = out
        self.buffer = io.StringIO(newline="")
        self.table = csv.writer(self.buffer, delimiter=delimiter, lineterminator="\n")
        self.width = len(columns(key, has_titles))
        self.table.writerow(columns(key, has_titles))
        self._flush()  # an empty run still has its header

    def write(self, tagged: TaggedInstance) -> None:
        self.table.writerows(_rows(tagged, self.width, as_text=True))
        self._flush()

    def _flush(self) -> None:
        self.out.write(self.buffer.getvalue().encode())
        self.buffer.seek(0)
        self.buffer.truncate()


class _Parquet:
    def __init__(self, out: BinaryIO, key: str, has_titles: bool) -> None:
        require("pyarrow", extra="parquet")
        import pyarrow as pa
        import pyarrow.parquet as pq

        kinds = {"uid": pa.string(), "row": pa.int64(), "rank": pa.int32(), "score": pa.float32()}
        names = columns(key, has_titles)
        self.schema = pa.schema([(name, kinds.get(name, pa.string())) for name in names])
        self.writer = pq.ParquetWriter(out, self.schema, compression="zstd")
        self.rows: list[Sequence[Any]] = []

    def write(self, tagged: TaggedInstance) -> None:
        self.rows += _rows(tagged, len(self.schema), as_text=False)
        if len(self.rows) >= ROWS_PER_GROUP:
            self._flush()

    def close(self) -> None:
        if self.rows:
            self._flush()
        self.writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        table = [
            pa.array(column, field.type)
            for column, field in zip(zip(*self.rows, strict=True), self.schema, strict=True)
        ]
        self.writer.write_table(pa.Table.from_arrays(table, schema=self.schema))
        self.rows = []


def _rows(tagged: TaggedInstance, width: int, *, as_text: bool) -> list[Sequence[Any]]:
    """Return a row per label, or one whose other cells are empty."""
    if not len(tagged.labels):
        return [[tagged.instance, *[None] * (width - 1)]]
    # As text, float32 has the few digits that it needs.
    scores = tagged.scores.astype(str).tolist() if as_text else tagged.scores.tolist()
    names = [tagged.labels, *([] if tagged.titles is None else [tagged.titles])]
    return [
        (tagged.instance, rank, *cells)
        for rank, cells in enumerate(zip(*names, scores, strict=True), start=1)
    ]
