"""Tables that mix measures in a cell or rows of several records: ``benchmarks/tables/PAGE.toml``.

A table of the file has ``records`` and either of these, where braces hold a `Reference` without its
record, and ``$`` stands for the key of the other direction:

    columns = ["eurlex-titles", "debian-deps"]        # or a key for each head
    rows."training, ours / libpecos" = "{$, ours | seconds | .2f} / {$, libpecos | seconds | .2f} s"

    rows = ["eurlex-titles, tfidf"]                   # or a key for each label
    columns."P@1" = "{$ | P@1 | .2f}"

A key may be a list, whose further parts are ``$2``, ``$3``, ... The cells of a row may be a list
too, one for each column. ``corner`` is what stands above the labels, ``empty`` what stands where a
row does not exist or has not got the measure.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.report.records import Records, UnknownNameError, known
from benchmarks.report.references import filled
from benchmarks.report.tables import table

TABLES = ROOT / "benchmarks" / "tables"
KEYS = dict.fromkeys(("records", "columns", "rows", "corner", "empty"))
ANY = "$"


def layout_table(page: str, name: str, records: Records, folder: Path = TABLES) -> str:
    """The table of a name that a page's file describes, in Markdown."""
    layouts = read(folder / f"{Path(page).stem}.toml")
    layout = known(name, layouts, f"table of {Path(page).stem}.toml")
    for key in layout:
        known(key, KEYS, "key of a table")
    columns, rows = keyed(layout["columns"]), keyed(layout["rows"])
    by_row = any(ANY in str(cell) for cell in columns.values())
    lines = [
        [
            label,
            *(
                cell_of(row, key, place, by_row=by_row)
                for place, key in enumerate(columns.values())
            ),
        ]
        for label, row in rows.items()
    ]

    def made(text: str) -> str:
        try:
            return filled(text, records, layout["records"])[0]
        except UnknownNameError:
            if "empty" not in layout:
                raise
            return str(layout["empty"])

    heads = [layout.get("corner", ""), *columns]
    return table([made(head) for head in heads], [[made(cell) for cell in line] for line in lines])


def cell_of(row: Any, column: Any, place: int, *, by_row: bool) -> str:
    """What stands in a cell, with the key of its row, or of its column, put in."""
    key = row if by_row else column
    cell = column if by_row else row[place] if isinstance(row, list) else row
    first, *further = key if isinstance(key, list) else [key]
    for number, part in enumerate(further, start=2):
        cell = cell.replace(f"{ANY}{number}", part)
    return str(cell.replace(ANY, first))


def keyed(given: Any) -> Mapping[str, Any]:
    """Names with what they stand for; those of a list stand for themselves."""
    return given if isinstance(given, Mapping) else {name: name for name in given}


@cache
def read(path: Path) -> Mapping[str, Any]:
    """All tables of a page."""
    if not path.exists():
        raise UnknownNameError(f"there is no {path.parent.name}/{path.name}")
    return tomllib.loads(path.read_text(encoding="utf-8"))
