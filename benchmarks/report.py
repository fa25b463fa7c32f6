"""Show a benchmark's numbers as a table, store them, and end with one JSON line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.machine import ROOT, describe

RESULTS = ROOT / "benchmarks" / "results"


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, numbers to the right."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def finish(name: str, results: dict[str, Any], *, store: bool) -> None:
    """Store the results with the machine's description, and print them as the last line."""
    record = {"benchmark": name, "results": results, "machine": describe()}
    if store:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{name}.json"
        path.write_text(json.dumps(record, indent=2) + "\n")
        print(f"stored in {path.relative_to(ROOT)}")
    print(json.dumps(record))
