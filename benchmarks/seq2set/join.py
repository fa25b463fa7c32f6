"""Runs of one data set that were made side by side, as one record.

    python -m benchmarks.seq2set.join RECORD.json ... --out benchmarks/results/seq2set-DATA.json

Small batches leave most of a card idle, so a table is made faster by several trainings at once,
each with a record of its own. Their settings must be the same but for contestants and seeds. With
``--side-by-side`` the record says that its speeds are those of a shared card, and they are not
printed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.seq2set.tables import summary, tables

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
    record["side_by_side"] = given.side_by_side
    given.out.write_text(json.dumps(record, indent=1) + "\n")
    part = "validation" if record["settings"]["validate"] else "test"
    tables(record["data"], record["runs"], part)
    found = summary(record["data"], record["runs"], part)
    if given.side_by_side:  # seconds of an epoch say how many others ran
        found = {key: value for key, value in found.items() if not key.startswith("epoch")}
    print(json.dumps(found))


def joined(records: list[dict[str, Any]]) -> dict[str, Any]:
    """One record with the runs of all; refuses records of different data, settings or cards."""
    first = records[0]
    runs: dict[str, Any] = {}
    for record in records:
        for what in ("data", "card", "settings"):
            if shared(record[what]) != shared(first[what]):
                raise SystemExit(
                    f"records differ in {what}: {record[what]} and {first[what]}; "
                    "join runs of the same data, settings and card"
                )
        twice = runs.keys() & record["runs"].keys()
        if twice:
            raise SystemExit(f"two records have {sorted(twice)}: give one of them")
        runs |= record["runs"]
    return {**first, "settings": shared(first["settings"]), "runs": runs}


def shared(value: Any) -> Any:
    """Settings without those that each record has for itself; anything else as it is."""
    if not isinstance(value, dict):
        return value
    return {key: setting for key, setting in value.items() if key not in OWN}


if __name__ == "__main__":
    main()
