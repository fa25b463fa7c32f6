"""Tables of metrics as rows of cells, and as plain text for logs and docstrings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

WIDTH = 70  # columns that a table may take: half a screen, a mail, a notebook
GAP = 2  # blanks between two cells


def grid(cells: Mapping[str, str]) -> list[list[str]]:
    """Return cells named ``metric@k`` as a header, and a row per metric with a column per k.

    Cells without a k have a column whose header is empty.
    """
    lines: dict[str, dict[str, str]] = {}
    for name, cell in cells.items():
        metric, _, k = name.rpartition("@") if "@" in name else (name, "", "")
        lines.setdefault(metric, {})[f"@{k}" if k else ""] = cell
    columns = list(dict.fromkeys(k for line in lines.values() for k in line))
    rows = [[metric, *(line.get(k, "") for k in columns)] for metric, line in lines.items()]
    return [["", *columns], *rows]


def stacked(values: Mapping[str, str], intervals: Mapping[str, str]) -> list[list[str]]:
    """Return a header, and a row for each metric and k: its value, and its interval."""
    rows = [[name, value, intervals.get(name, "")] for name, value in values.items()]
    if not intervals:
        return [["", "%"], *(row[:2] for row in rows)]
    return [["", "%", "interval"], *rows]


def width(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of columns that rows of cells need on a screen."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return sum(widths) + GAP * (len(widths) - 1)


def wrapped(paragraphs: Iterable[str]) -> list[str]:
    """Return lines that are no wider than a table."""
    return [line for text in paragraphs for line in textwrap.wrap(text, WIDTH)]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells in columns: the first to the left, the others to the right.

    A row without a single letter is left out.
    """
    rows = [row for row in rows if any(row)]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for row in rows
    )
