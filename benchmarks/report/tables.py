"""Tables of results: a row for each row of a record, a column for each measure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.report.records import Record, Records, UnknownNameError, known, span
from benchmarks.report.references import written
from benchmarks.report.rows import middle

# Measures of which more is better, so that the best can be told.
MORE_IS_BETTER = re.compile(
    r"^(?:validation )?(?:(?:PS)?(?:P|R|nDCG)@\d+|\w*(?:f1|precision|recall|accuracy|auc))$", re.I
)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def result_table(order: str, records: Records) -> str:
    """Of ``RECORD | MEASURE, MEASURE | row; row``; without rows, all rows."""
    name, _, rest = (part.strip() for part in order.partition("|"))
    wanted, _, chosen = (part.strip() for part in rest.partition("|"))
    if not wanted:
        raise UnknownNameError(f"{order!r} is not of the form RECORD | MEASURE, ... | row; ...")
    record = records[name]
    measures = [measure.strip() for measure in wanted.split(",")]
    rows = [row.strip() for row in chosen.split(";")] if chosen else list(record.rows)
    for measure in measures:
        everywhere = {m: None for row in rows for m in record.row(row)["measures"]}
        known(measure, everywhere, f"measure of {record.name}")
    columns = [column(record, measure, rows) for measure in measures]
    lines = [[row, *cells] for row, *cells in zip(rows, *columns, strict=True)]
    return f"{table(['', *measures], lines)}\n{caption(record, rows)}\n"


def column(record: Record, measure: str, rows: Sequence[str]) -> list[str]:
    """Mean and margin of each row, empty if not measured; the best in bold if more is better."""
    found = {
        row: record.measure(row, measure) for row in rows if measure in record.row(row)["measures"]
    }
    shown = {row: written(middle(one), one.get("margin")) for row, one in found.items()}
    if MORE_IS_BETTER.match(measure) and len(found) > 1:
        best = max(map(middle, found.values()))
        for row, one in found.items():
            if middle(one) == best:
                shown[row] = f"**{shown[row]}**"
    return [shown.get(row, "") for row in rows]


def caption(record: Record, rows: Sequence[str]) -> str:
    """Where the numbers are from: data, seeds, commits, and the command that repeats them."""
    seeds = [max(len(record.row(row)["seeds"]), 1) for row in rows]
    parts = [
        ", ".join(record.data),
        f"{span(seeds)} seed{'s' * (max(seeds) > 1)}",
        f"commit{'s' * (len(record.commits) > 1)} {', '.join(record.commits)}",
        f"`{record.content['command']}`",
    ]
    return f"<small>{'; '.join(parts)}</small>"
