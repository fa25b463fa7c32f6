"""Plain-text tables of metrics, for logs and docstrings; the command line draws its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def grid(cells: Mapping[str, str]) -> str:
    """Cells named ``metric@k`` as a line per metric and a column per k; others get one column."""
    lines: dict[str, dict[str, str]] = {}
    for name, cell in cells.items():
        metric, _, k = name.rpartition("@") if "@" in name else (name, "", "")
        lines.setdefault(metric, {})[f"@{k}" if k else ""] = cell
    columns = list(dict.fromkeys(k for line in lines.values() for k in line))
    head = [["", *columns]] if columns != [""] else []
    rows = [[metric, *(line.get(k, "") for k in columns)] for metric, line in lines.items()]
    return aligned(head + rows)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells in columns: the first to the left, the others to the right."""
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
