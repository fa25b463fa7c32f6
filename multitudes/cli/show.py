"""Results on stdout: tables for people, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from multitudes.metrics import Comparison, Report

WIDTH_OF_PIPES = 160  # nothing to fit into, so nothing is cut


def console() -> Console:
    """stdout, as wide as the terminal."""
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich calls this in its handler; `guarded` knows what to do

    return Pipe(width=None if sys.stdout.isatty() else WIDTH_OF_PIPES, highlight=False)


def show_json(value: Any) -> None:
    """One JSON document."""
    import orjson

    options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY
    sys.stdout.write(orjson.dumps(value, option=options).decode() + "\n")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Table:
    """A table whose first `left` columns are words and whose others are numbers."""
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
        result.add_row(*(Text(cell) for cell in row))  # Text: brackets in labels are no markup
    return result


def report_table(report: Report) -> Table:
    """Metrics in percent: a line per metric, a column per k."""
    lines: dict[str, dict[str, str]] = {}
    for name, value in report.values.items():
        metric, _, k = name.rpartition("@") if "@" in name else (name, "", "")
        lines.setdefault(metric, {})[k] = _with_interval(name, value, report.intervals)
    columns = list(dict.fromkeys(k for line in lines.values() for k in line))
    header = ["", *(f"@{k}" if k else "%" for k in columns)]
    return table(header, [[m, *(line.get(k, "") for k in columns)] for m, line in lines.items()])


def _with_interval(name: str, value: float, intervals: Mapping[str, tuple[float, float]]) -> str:
    text = f"{100 * value:.2f}"
    if name in intervals:
        low, high = intervals[name]
        text += f" [{100 * low:.2f}, {100 * high:.2f}]"
    return text


def show_report(report: Report) -> None:
    """The table, what was evaluated, and the report's remarks."""
    out = console()
    out.print(report_table(report))
    out.print(f"\n{report.n_instances:,} instances, {report.n_labels:,} labels; in percent")
    for note in report.notes:
        out.print(note, markup=False)


def show_comparison(comparison: Comparison, names: tuple[str, str]) -> None:
    """Both values, their difference with its interval and p-value, a line per metric."""
    share = f"{comparison.resampling.confidence:.0%}"
    rows = [
        [
            name,
            f"{100 * d.a:.2f}",
            f"{100 * d.b:.2f}",
            f"{100 * d.difference:+.2f}",
            f"[{100 * d.low:+.2f}, {100 * d.high:+.2f}]",
            f"{d.p_value:.4f}",
        ]
        for name, d in comparison.differences.items()
    ]
    out = console()
    out.print(f"A  {names[0]}\nB  {names[1]}\n", markup=False)
    out.print(table(["", "A", "B", "A - B", f"{share} interval", "p"], rows))
    out.print(
        f"\n{comparison.n_instances:,} instances; in percent; "
        "p-values are not corrected for the number of metrics"
    )
