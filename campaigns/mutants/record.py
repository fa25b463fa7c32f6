"""The record of the campaign: counts of each package, and each survivor with its reason."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from campaigns.mutants.judging import KILLED, SURVIVED, TIMEOUT, UNTESTED
from campaigns.mutants.packages import PACKAGES

REASONS = Path(__file__).parent / "reasons.toml"
NOTICED = (KILLED, TIMEOUT)
"""A change that makes the tests hang is noticed by them."""


def store(folder: Path, output: Path, *, seed: int, number: int) -> None:
    """Write what the journals say of the packages that were judged to the end."""
    reasons = known_reasons()
    packages = {}
    for name in PACKAGES:
        journal = folder / f"{name}.jsonl"
        if journal.exists():
            rows = [json.loads(line) for line in journal.read_text().splitlines()]
            if len(rows) == number:
                packages[name] = _of_package(rows, reasons)
    record = {
        "campaign": "mutants",
        "run": {"seed": seed, "mutants": number, "mutmut": metadata.version("mutmut")},
        "packages": packages,
        "machine": describe(),
    }
    output.write_text(json.dumps(record, indent=2) + "\n")


def known_reasons() -> dict[str, str]:
    """Why a survivor is allowed to live, by its key."""
    with REASONS.open("rb") as file:
        return {row["mutant"]: row["reason"] for row in tomllib.load(file).get("survivor", [])}


def _of_package(rows: list[dict[str, Any]], reasons: dict[str, str]) -> dict[str, Any]:
    """Counts, the share that survived, and the survivors."""
    ended = Counter(row["ended"] for row in rows)
    alive = [row for row in rows if row["ended"] not in NOTICED]
    shown = ("file", "line", "function", "before", "after", "ended")
    return {
        "mutants": len(rows),
        **{kind: ended[kind] for kind in (KILLED, TIMEOUT, SURVIVED, UNTESTED)},
        "commits": sorted({row["commit"] for row in rows}),
        "survivors_percent": round(100 * len(alive) / len(rows), 1),
        "survivors": [
            {key: row[key] for key in shown} | {"reason": reasons.get(row["key"])} for row in alive
        ],
    }
