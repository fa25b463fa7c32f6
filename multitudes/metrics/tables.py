"""Tables of metrics as rows of cells, and as plain text for logs and docstrings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


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
