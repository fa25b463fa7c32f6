"""Results on stdout: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from multitudes.cli.printing.wrapping import WithoutTrailingBlanks, terminal_width, wrapped

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.measure import Measurement
    from rich.table import Table

    from multitudes.metrics import Comparison, Report

WIDTH_OF_PIPES = 160  # nothing to fit into unless COLUMNS says so
GAP = 2  # blanks between columns
READABLE = 24  # characters that a column of sentences needs
LONGEST_WORD = 28  # a longer one may be broken


def console() -> Console:
    """Return stdout as a rich console, as wide as the terminal."""
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich calls this in its handler; `guarded` knows what to do

    out: Any = WithoutTrailingBlanks(sys.stdout)
    width = terminal_width(sys.stdout) or WIDTH_OF_PIPES
    return Pipe(file=out, width=width, highlight=False)


def say(text: str, *, hanging: int = 2) -> None:
    """Print sentences, wrapped at words; lines that follow are set in by `hanging`."""
    sys.stdout.write(wrapped(text, terminal_width(sys.stdout), hanging=hanging) + "\n")


def show_json(value: Any) -> None:
    """Print one JSON document."""
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY
    try:
        text = orjson.dumps(value, option=options).decode()
    except TypeError:  # an integer of more than 64 bits
        text = json.dumps(value, indent=2)
    sys.stdout.write(text + "\n")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Rows:
    """Return a table whose first `left` columns are words and whose others are numbers."""
    return Rows(tuple(header), rows, left)


@dataclass(frozen=True)
class Rows:
    """Rows that print as a table, or one below the other where a table would not fit."""

    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    left: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._narrowest() <= options.max_width or len(self.header) < 2:
            yield self._as_table()
        else:
            yield from self._as_lists()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import Measurement

        return Measurement(1, options.max_width)

    def _narrowest(self) -> int:
        """Return the columns below which words would be broken, or squeezed into a column."""
        widths = []
        for number, cells in enumerate(zip(self.header, *self.rows, strict=True)):
            longest = max(map(len, cells))
            word = max(len(word) for cell in cells for word in (cell.split() or [""]))
            squeezed = max(min(word, LONGEST_WORD), min(longest, READABLE))
            widths.append(squeezed if number < self.left else longest)
        return sum(widths) + GAP * (len(widths) - 1)

    def _as_table(self) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        result = Table(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            collapse_padding=True,
            show_header=any(self.header),
        )
        for number, name in enumerate(self.header):
            result.add_column(
                name,
                justify="left" if number < self.left else "right",
                overflow="fold",
                no_wrap=number >= self.left,
                style="bold" if number == 0 else None,
            )
        for row in self.rows:
            result.add_row(*(Text(cell) for cell in row))  # Text: brackets in labels, no markup
        return result

    def _as_lists(self) -> RenderResult:
        """Yield each row: its first cell, and below it the others, each behind its header."""
        from rich.padding import Padding
        from rich.text import Text

        for row in self.rows:
            yield Text(row[0], style="bold")
            for name, cell in zip(self.header[1:], row[1:], strict=True):
                if cell:
                    yield Padding(Text(f"{name}  {cell}".strip()), (0, 0, 0, 2))


def report_table(report: Report) -> Rows:
    """Return metrics in percent: a line per metric, a column per k."""
    (_, *columns), *rows = report.rows()
    return table(["", *(column or "%" for column in columns)], rows)


def show_report(report: Report) -> None:
    """Show the table, what was evaluated, and the report's remarks."""
    console().print(report_table(report))
    say("\n" + "\n".join(report.remarks()))


def show_comparison(comparison: Comparison, names: tuple[str, str]) -> None:
    """Show both values, their difference with its interval and p-value, a line per metric."""
    header, *rows = comparison.rows()
    say(f"A  {names[0]}\nB  {names[1]}\n", hanging=3)
    console().print(table(header, rows))
    say("\n" + "\n".join(comparison.remarks()))
