"""Guess what separates the fields of a CSV file, from its first lines."""

from __future__ import annotations

import csv
import io
from itertools import islice
from pathlib import Path

from multitudes.data.columns import has_column_names
from multitudes.data.compression import peek, uncompressed_suffix
from multitudes.data.formats import ReadOptions

CANDIDATES = ("\t", ",", ";")
_PEEK_BYTES = 1 << 16
_ROWS = 20


def guess_delimiter(path: str | Path, options: ReadOptions) -> str:
    """The delimiter of a CSV file.

    A ``.tsv`` file has tabs. Otherwise the first of tab, comma and semicolon that gives known
    column names wins; then the first that cuts all of the first rows into equally many fields,
    more than one; then the first that cuts the first row at all.
    """
    if uncompressed_suffix(path) in (".tsv", ".tab"):
        return "\t"
    head = peek(path, _PEEK_BYTES).decode("utf-8-sig", errors="replace")
    widths = {}
    for delimiter in CANDIDATES:
        rows = _first_rows(head, delimiter, options.quote)
        widths[delimiter] = [len(row) for row in rows]
        if rows and len(rows[0]) > 1 and options.header != "no" and _known(rows[0], options):
            return delimiter
    for delimiter, counts in widths.items():
        if len(set(counts)) == 1 and counts[0] > 1:
            return delimiter
    return next((d for d, counts in widths.items() if counts and counts[0] > 1), ",")


def _known(row: list[str], options: ReadOptions) -> bool:
    return has_column_names(row, ReadOptions(text_column=options.text_column))


def _first_rows(head: str, delimiter: str, quote: str) -> list[list[str]]:
    reader = csv.reader(
        io.StringIO(head, newline="\n"),
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
    )
    try:
        return [row for row in islice(reader, _ROWS) if row]
    except csv.Error:
        return []
