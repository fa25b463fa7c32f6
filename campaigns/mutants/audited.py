"""Change the lines that audits changed without a test failing: a test fails now.

``python -m campaigns.mutants.audited``
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from pathlib import Path

import campaigns  # noqa: F401 - sets the threads of linear algebra before numpy is imported
from benchmarks.machine import describe
from campaigns.framework.findings import RESULTS
from campaigns.mutants.judging import KILLED, SURVIVED
from campaigns.mutants.packages import ROOT
from campaigns.mutants.session import load_what_is_not_mutated, run_alone

LIST = Path(__file__).with_suffix(".toml")
SECONDS = 120.0
"""CPU time of one test, with everything that it imports."""


def main() -> int:
    """Judge each by the one test that is named for it; which must pass without the change."""
    with LIST.open("rb") as file:
        rows = tomllib.load(file)["mutant"]
    load_what_is_not_mutated()
    tests = sorted({row["test"] for row in rows})
    if run_alone(tests, seconds=SECONDS * len(tests)) != SURVIVED:
        raise SystemExit("a test fails without a change: it says nothing about mutants")
    for row in rows:
        source = (ROOT / row["file"]).read_text()
        if source.count(row["before"]) != 1:
            raise SystemExit(f"{row['file']} has {row['before']!r} not once: write the list anew")
        changed = source.replace(row["before"], row["after"])
        row["ended"] = run_alone([row["test"]], (row["file"], changed), seconds=SECONDS)
        print(f"{row['ended']}: {row['what']} ({row['test'].split('::')[1]})", flush=True)
    record = {
        "campaign": "audited mutants",
        "result": dict(Counter(row["ended"] for row in rows)),
        "mutants": rows,
        "machine": describe(),
    }
    (RESULTS / "audited-mutants.json").write_text(json.dumps(record, indent=2) + "\n")
    return int(any(row["ended"] != KILLED for row in rows))


if __name__ == "__main__":
    sys.exit(main())
