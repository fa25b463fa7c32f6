"""Results on stdout: tables for people, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from multitudes.metrics import Comparison, Report

WIDTH_OF_PIPES = 160  # nothing to fit into, so nothing is cut


def console() -> Console:
    """Return stdout as a rich console, as wide as the terminal."""
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich calls this in its handler; `guarded` knows what to do

    return Pipe(width=None if sys.stdout.isatty() else WIDTH_OF_PIPES, highlight=False)


def show_json(value: Any) -> None:
    """Print one JSON document."""
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY
    sys.stdout.write(orjson.dumps(value, option=options).decode() + "\n")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Table:
    """Return a table whose first `left` columns are words and whose others are numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    result = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, show_header=any(header))
    for number, name in enumerate(header):
        result.add_column(
            name,
            justify="left" if number < left else "right",
            overflow="fold",
            no_wrap=number >= left,
            style="bold" if number == 0 else None,
        )
    for row in rows:
        result.add_row(*(Text(cell) for cell in row))  # Text: brackets in labels are not markup
    return result


def report_table(report: Report) -> Table:
    """Return metrics in percent: a line per metric, a column per k."""
    (_, *columns), *rows = report.rows()
    return table(["", *(column or "%" for column in columns)], rows)


def show_report(report: Report) -> None:
    """Show the table, what was evaluated, and the report's remarks."""
    out = console()
    out.print(report_table(report))
    out.print()
    for line in report.remarks():
        out.print(line, markup=False)


def show_comparison(comparison: Comparison, names: tuple[str, str]) -> None:
    """Show both values, their difference with its interval and p-value, a line per metric."""
    header, *rows = comparison.rows()
    out = console()
    out.print(f"A  {names[0]}\nB  {names[1]}\n", markup=False)
    out.print(table(header, rows))
    out.print()
    for line in comparison.remarks():
        out.print(line, markup=False)
