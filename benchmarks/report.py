"""What benchmarks share: numbers given and shown, means over seeds, and the stored record."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.machine import ROOT, signature

RESULTS = ROOT / "benchmarks" / "results"
CONFIDENCE = 0.95


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
    record = {"benchmark": name, "results": results, **signature()}
    if store:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{name}.json"
        path.write_text(json.dumps(record, indent=2) + "\n")
        print(f"stored in {path.relative_to(ROOT)}")
    print(json.dumps(record))


def mean_and_margin(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean, and the half-width of its t-interval; None for a single value."""
    from scipy.special import stdtrit

    n = len(values)
    if n < 2:
        return float(np.mean(values)), None
    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return float(np.mean(values)), quantile * statistics.stdev(values) / n**0.5


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
