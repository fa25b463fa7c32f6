"""Parquet: a text column, and labels as lists of names or ids, or as separated strings."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from multitudes import memory
from multitudes.data.compression import encoding_checked, open_bytes, open_write
from multitudes.data.dataset import Dataset
from multitudes.data.decompression import FREE_BYTES, MOST_INFLATED
from multitudes.data.formats.format import TEXTS, Format, label_rows, texts_of, writes_labels
from multitudes.data.formats.parquet_footer import Chunk, read_chunks
from multitudes.data.formats.tabular import ROWS_AT_ONCE, ColumnRoles, Table, roles_by_name
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.errors import DataError, MultitudesError, require
from multitudes.progress import track

_ROWS_PER_GROUP = 10_000


def read_parquet(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read a Parquet file: a string column of texts, a column of labels.

    Labels are lists of strings (names) or of integers (ids), or strings with a separator. Columns
    are found as in CSV. Rows are numbered from 1 in messages.

    Parameters
    ----------
    path : path
        The file; it may be compressed as a whole, but usually is inside.
    options : ReadOptions
        Columns, label separator, and what to do with bad rows.
    labels : LabelSpace, optional
        The label space to read over.
    """
    require("pyarrow", extra="parquet")
    path = Path(path)
    table = Table(path, options, labels, numbered=": row ")
    with open_parquet(path) as file:
        _add_all(file, table)
    return table.dataset()


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a pyarrow ParquetFile; its errors become DataErrors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with ExitStack() as stack:
        stream = stack.enter_context(open_bytes(path))
        if not stream.seekable():
            # Parquet is read from its end, which an archive cannot offer.
            unpacked = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(stream, unpacked)
            unpacked.seek(0)
            stream = cast(BinaryIO, unpacked)
        try:
            metadata = pq.ParquetFile(stream).metadata
            groups = read_chunks(stream)
            _check_sizes(groups, path)
            yield pq.ParquetFile(
                stream, metadata=metadata, read_dictionary=_with_dictionary(groups)
            )
        except MultitudesError:
            raise
        except (pa.ArrowException, OSError, ValueError, TypeError, LookupError) as error:
            raise DataError(
                f"{path}: damaged or not Parquet ({str(error).splitlines()[0]}): copy or write "
                "it again"
            ) from error


def _check_sizes(groups: list[list[Chunk]], path: Path) -> None:
    """Hold what a file declares against memory, and against how well data can be packed."""
    largest = 0
    for chunks in groups:
        unpacked = sum(chunk.unpacked for chunk in chunks)
        packed = sum(chunk.packed for chunk in chunks)
        if unpacked > max(FREE_BYTES, MOST_INFLATED * packed):
            raise DataError(
                f"{path}: a row group unpacks from {packed:,} to {unpacked:,} bytes, as data does "
                "not: check that the file is the right one"
            )
        largest = max(largest, unpacked)
    memory.ask(2 * largest, f"{path}: a row group of {largest:,} bytes")


def _with_dictionary(groups: list[list[Chunk]]) -> list[str]:
    """Return the columns of strings that are stored once each: they are to be held once each."""
    chunks = [chunk for group in groups for chunk in group]
    found = (chunk.path for chunk in chunks if chunk.holds_bytes and chunk.has_dictionary)
    return list(dict.fromkeys(found))


def row_batches(file: Any, n_rows: int, columns: list[str] | None = None) -> Iterator[Any]:
    """Yield record batches of at most `n_rows` rows.

    None spans two row groups: their dictionaries differ, which pyarrow cannot join within lists.
    """
    for group in range(file.metadata.num_row_groups):
        yield from file.iter_batches(batch_size=n_rows, row_groups=[group], columns=columns)


def listed(column: Any) -> list[Any]:
    """Return a column as Python values; strings of a dictionary are the same object each time.

    A file of a kilobyte may hold a string of megabytes once, and name it in each of a million rows.
    """
    import pyarrow.types as pt

    if pt.is_dictionary(column.type):
        words = listed(column.dictionary)
        return [None if place is None else words[place] for place in column.indices.to_pylist()]
    if not pt.is_list(column.type) and not pt.is_large_list(column.type):
        return list(column.to_pylist())
    items = iter(listed(column.flatten()))
    lengths = column.value_lengths().to_pylist()
    return [None if n is None else list(islice(items, n)) for n in lengths]


def _add_all(file: Any, table: Table) -> None:
    """Add all rows of the file, some at a time, only the columns that matter."""
    schema = file.schema_arrow
    roles = roles_by_name(
        schema.names,
        table.path,
        table.options,
        may_be_text=lambda place: _is_text(schema.types[place]),
    )
    _check_types(schema, roles, table.path)
    others = [place for place in (roles.labels, roles.uid, roles.group) if place is not None]
    places = [*roles.texts, *others]
    roles = _among(roles, places)
    names = [schema.names[place] for place in places]
    n_rows = 0
    with track(f"reading {table.path.name}", file.metadata.num_rows, "rows") as task:
        for batch in row_batches(file, ROWS_AT_ONCE, names):
            values = [listed(batch.column(name)) for name in names]
            rows = list(enumerate(zip(*values, strict=True), n_rows + 1))
            table.add(_not_too_long(rows, roles, table), roles)
            n_rows += batch.num_rows
            task.advance(batch.num_rows)


def _not_too_long(
    rows: list[tuple[int, Any]], roles: ColumnRoles, table: Table
) -> list[tuple[int, Any]]:
    """Return the rows whose texts are no longer than a line may be; others go to the log."""
    limit = table.options.max_line_bytes
    kept = []
    for number, values in rows:
        longest = max((len(values[place] or "") for place in roles.texts), default=0)
        if longest > limit:
            table.log.bad_line(
                f"{table.path}: row {number}: a text has {longest:,} characters, more than "
                f"max_line_bytes ({limit:,}): raise max_line_bytes, or check the file"
            )
        else:
            kept.append((number, values))
    return kept


def _among(roles: ColumnRoles, places: list[int]) -> ColumnRoles:
    """Return the roles once only the columns at `places` are left."""
    labels, uid, group = (
        None if place is None else places.index(place)
        for place in (roles.labels, roles.uid, roles.group)
    )
    names = tuple(roles.names[place] for place in places)
    return ColumnRoles(tuple(map(places.index, roles.texts)), labels, uid, group, names)


def _check_types(schema: Any, roles: ColumnRoles, path: Path) -> None:
    expected = [(place, _is_text, "string") for place in roles.texts]
    if roles.labels is not None:
        expected.append(
            (roles.labels, _is_several, "list<string>, list<int64>, or string with a separator")
        )
    if roles.uid is not None:
        expected.append((roles.uid, _is_one, "string or int64"))
    if roles.group is not None:
        expected.append((roles.group, _is_one_or_several, "string, int64, or a list of them"))
    for place, fits, wanted in expected:
        if not fits(schema.types[place]):
            raise DataError(
                f"{path}: column {schema.names[place]!r} has the wrong type (got "
                f"{schema.types[place]}); expected {wanted}: name another column, or convert it"
            )


def _is_text(kind: Any) -> bool:
    import pyarrow.types as pt

    if pt.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def _is_one(kind: Any) -> bool:
    import pyarrow.types as pt

    return _is_text(kind) or bool(pt.is_integer(kind))


def _is_several(kind: Any) -> bool:
    import pyarrow.types as pt

    if pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind):
        # A column of nothing but empty lists has elements of type null.
        return _is_one(kind.value_type) or bool(pt.is_null(kind.value_type))
    return _is_text(kind)


def _is_one_or_several(kind: Any) -> bool:
    return _is_one(kind) or _is_several(kind)


def write_parquet(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write the columns ``uid``, ``text``, ``labels`` (a list) and ``group`` (a list)."""
    pa = require("pyarrow", extra="parquet")
    pq = require("pyarrow.parquet", extra="parquet")
    texts = texts_of(dataset, PARQUET.name)
    as_names = options.writes_names(dataset)
    schema = _schema(dataset, as_names, pa)
    with (
        open_write(path) as stream,
        track(f"writing {Path(path).name}", len(dataset), "rows") as task,
        pq.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        for start in range(0, len(dataset), _ROWS_PER_GROUP):
            rows = range(start, min(start + _ROWS_PER_GROUP, len(dataset)))
            columns: dict[str, Any] = {"text": texts[start : rows.stop]}
            if writes_labels(dataset):
                columns["labels"] = label_rows(dataset, rows, as_names=as_names)
            if dataset.uids is not None:
                columns["uid"] = dataset.uids[start : rows.stop]
            if dataset.groups is not None:
                columns["group"] = [dataset.group_names_of(row) for row in rows]
            with encoding_checked(path):
                writer.write_table(pa.table(columns, schema=schema))
            task.advance(len(rows))


def _schema(dataset: Dataset, as_names: bool, pa: Any) -> Any:
    label = pa.string() if as_names else pa.int64()
    columns = [("text", pa.string())]
    if writes_labels(dataset):
        columns.append(("labels", pa.list_(label)))
    if dataset.uids is not None:
        columns.insert(0, ("uid", pa.string()))
    if dataset.groups is not None:
        columns.append(("group", pa.list_(pa.string())))
    return pa.schema(columns)


def _sniff(head: bytes) -> bool:
    return head.startswith(b"PAR1")


PARQUET = Format(
    name="parquet",
    summary="Apache Parquet, a text and a label column",
    suffixes=(".parquet", ".pq"),
    holds=TEXTS,
    holds_groups=True,
    sniff=_sniff,
    read=read_parquet,
    write=write_parquet,
)
