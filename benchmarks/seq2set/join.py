"""Runs of one data set that were made side by side, as one record.

    python -m benchmarks.seq2set.join RECORD.json ... --out benchmarks/results/seq2set-DATA.json

Small batches leave most of a card idle, so a table is made faster by several trainings at once,
each with a record of its own. Their settings must be the same but for contestants and seeds. With
``--side-by-side`` the record says that its speeds are those of a shared card.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.report import show_rows
from benchmarks.report.rows import Rows, measured
from benchmarks.report.storing import written

OWN = (
    "name",
    "contestants",
    "seeds",
    "first_seed",
    "verbose",
)  # settings in which records may differ


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--side-by-side", action="store_true", help="they shared a card")
    given = parser.parse_args()
    record = joined([json.loads(path.read_text()) for path in given.records])
    record["settings"]["side_by_side"] = given.side_by_side
    written(record, given.out)
    show_rows(given.out.stem, record["rows"], ["micro_precision", "micro_recall", "micro_f1"])


def joined(records: list[dict[str, Any]]) -> dict[str, Any]:
    """One record with the rows of all; refuses records of different data, settings or cards."""
    first = records[0]
    rows: Rows = {}
    for record in records:
        for what in ("data", "card", "settings"):
            if shared(record[what]) != shared(first[what]):
                raise SystemExit(
                    f"records differ in {what}: {record[what]} and {first[what]}; "
                    "join runs of the same data, settings and card"
                )
        for name, row in record["rows"].items():
            rows[name] = both(name, rows[name], row) if name in rows else row
    commits = sorted({commit for record in records for commit in record["machine"]["commits"]})
    machine = {**first["machine"], "commits": commits}
    return {**first, "settings": shared(first["settings"]), "rows": rows, "machine": machine}


def both(name: str, row: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A row of the seeds of two."""
    if twice := set(row["seeds"]) & set(other["seeds"]):
        raise SystemExit(f"two records have {name}, seeds {sorted(twice)}: give one of them")
    measures = {
        key: measured(one["values"] + other["measures"][key]["values"])
        for key, one in row["measures"].items()
    }
    return {**row, "seeds": row["seeds"] + other["seeds"], "measures": measures}


def shared(value: Any) -> Any:
    """Settings without those that each record has for itself; anything else as it is."""
    if not isinstance(value, dict):
        return value
    return {key: setting for key, setting in value.items() if key not in OWN}


if __name__ == "__main__":
    main()
