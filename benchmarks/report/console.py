"""Numbers as benchmarks show them on the console, and as they take them from it."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report.rows import Rows, middle


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


def show_rows(title: str, rows: Rows, measures: Sequence[str] = ()) -> None:
    """Print middles of measures, by default of all."""
    names = measures or list(dict.fromkeys(m for row in rows.values() for m in row["measures"]))
    lines = [
        [
            name,
            *(f"{middle(row['measures'][m]):.4g}" if m in row["measures"] else "" for m in names),
        ]
        for name, row in rows.items()
    ]
    show(title, ["", *names], lines)


def with_margin(value: float, margin: float | None) -> str:
    """A gain, with its interval where there is one."""
    return f"{value:+.2f}" + ("" if margin is None else f" +/- {margin:.2f}")


def whole_numbers(text: str) -> tuple[int, ...]:
    """'1,2,3' as numbers of at least 1; '' for none."""
    numbers = tuple(int(part) for part in text.split(",") if part)
    if any(number < 1 for number in numbers):
        raise ValueError(text)
    return numbers


def at_least_one(text: str) -> int:
    (number,) = whole_numbers(text)
    return number
