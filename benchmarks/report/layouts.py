"""Tables that mix measures in a cell or rows of several records: ``benchmarks/tables/PAGE.toml``.

A table of the file has ``records`` and either of these, where ``*`` stands for the key of the other
direction and braces for a `Reference` without its record:

    columns = ["eurlex-titles", "debian-deps"]        # or a head for each key
    rows."training, ours / libpecos" = "{*, ours | seconds | .2f} / {*, libpecos | seconds | .2f} s"

    rows = ["eurlex-titles, tfidf"]                   # or a label for each key
    columns."P@1" = "{* | P@1 | .2f}"

The cells of a row may be a list too, one for each column. ``corner`` is what stands above the
labels, ``empty`` what stands where a row has not got the measure, or does not exist.
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
ANY = "*"


def layout_table(page: str, name: str, records: Records, folder: Path = TABLES) -> str:
    """The table of a name that a page's file describes, in Markdown."""
    layouts = read(folder / f"{Path(page).stem}.toml")
    layout = known(name, layouts, f"table of {Path(page).stem}.toml")
    for key in layout:
        known(key, KEYS, "key of a table")
    columns, rows = keyed(layout["columns"]), keyed(layout["rows"])
    by_row = all("{" not in str(value) for value in rows.values())
    lines = []
    for label, row in rows.items():
        cells = [
            columns[head].replace(ANY, row) if by_row else across(row, place, columns[head])
            for place, head in enumerate(columns)
        ]
        lines.append([label, *cells])

    def made(text: str) -> str:
        try:
            return filled(text, records, layout["records"])[0]
        except UnknownNameError:
            if "empty" not in layout:
                raise
            return str(layout["empty"])

    heads = [layout.get("corner", ""), *columns]
    return table([made(head) for head in heads], [[made(cell) for cell in line] for line in lines])


def across(row: Any, place: int, key: str) -> str:
    """The cell of a column."""
    return str(row[place] if isinstance(row, list) else row).replace(ANY, key)


def keyed(given: Any) -> Mapping[str, Any]:
    """Names with what they stand for; those of a list stand for themselves."""
    return given if isinstance(given, Mapping) else {name: name for name in given}


@cache
def read(path: Path) -> Mapping[str, Any]:
    """All tables of a page."""
    if not path.exists():
        raise UnknownNameError(f"there is no {path.parent.name}/{path.name}")
    return tomllib.loads(path.read_text(encoding="utf-8"))
