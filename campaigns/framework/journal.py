"""The journal of a run: which cases are done and what came of them, so that it can be resumed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from campaigns.framework.findings import Finding


@dataclass
class Totals:
    """Sums over all batches that are done."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    peak: int = 0
    seconds: float = 0.0
    findings: dict[str, Finding] = field(default_factory=dict)
    done: list[tuple[int, int]] = field(default_factory=list)

    def add(self, entry: dict[str, Any]) -> None:
        """Add one entry of the journal."""
        if "seconds" in entry:
            self.seconds += entry["seconds"]
            return
        for target, kind, count in entry["counts"]:
            self.counts[target, kind] += count
        for target, seconds in entry["slowest"].items():
            self.slowest[target] = max(self.slowest.get(target, 0.0), seconds)
        self.peak = max(self.peak, entry["peak"])
        for key, finding in entry["findings"].items():
            self.findings.setdefault(key, Finding(**finding))
        self.done.append((entry["start"], entry["stop"]))

    def n_cases(self) -> int:
        """Return how many cases have run."""
        return sum(self.counts.values())


class Journal:
    """A file of JSON lines; its first one says which run it belongs to."""

    def __init__(self, path: Path, run: dict[str, Any]) -> None:
        self.path = path
        self.run = run

    def begin(self, *, resume: bool) -> Totals:
        """Return what is done already: nothing for a new run, which starts a new journal."""
        totals = Totals()
        if resume and self.path.is_file():
            first, *lines = self.path.read_text().splitlines()
            if json.loads(first) != self.run:
                raise SystemExit(f"{self.path} is of another run: {first}")
            for line in lines:
                totals.add(json.loads(line))
            return totals
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.run) + "\n")
        return totals

    def note(self, entry: dict[str, Any]) -> None:
        """Append an entry."""
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def entry_of(start: int, stop: int, result: Any, findings: dict[str, Finding]) -> dict[str, Any]:
    """Return the entry of a batch."""
    return {
        "start": start,
        "stop": stop,
        "counts": [[*key, count] for key, count in result.counts.items()],
        "slowest": result.slowest,
        "peak": result.peak,
        "findings": {key: asdict(finding) for key, finding in findings.items()},
    }


def open_ranges(n_cases: int, done: list[tuple[int, int]], size: int) -> Iterator[range]:
    """Yield the batches that are left, of at most `size` cases each."""
    at = 0
    for start, stop in [*sorted(done), (n_cases, n_cases)]:
        for first in range(at, min(start, n_cases), size):
            yield range(first, min(first + size, start, n_cases))
        at = max(at, stop)
