"""Values of records of the one schema, by record, row and measure; unknown names are told."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.report.storing import RESULTS

MINUS = " - "
SHOWN_COMMITS = 8  # characters of a commit


class UnknownNameError(ValueError):
    """A page or a claim asks for a record, row or measure that is not there."""


@dataclass(frozen=True)
class Record:
    """One file of ``benchmarks/results`` in the schema of `benchmarks.evidence.record`."""

    name: str
    content: Mapping[str, Any]

    @property
    def rows(self) -> Mapping[str, Any]:
        """Rows by name, in the order of their study."""
        rows: Mapping[str, Any] = self.content["rows"]
        return rows

    @property
    def data(self) -> list[str]:
        """Names of data sets."""
        return list(self.content["data"])

    @property
    def commits(self) -> list[str]:
        """What was measured, shortened."""
        return [str(commit)[:SHOWN_COMMITS] for commit in self.content["machine"]["commits"]]

    def row(self, name: str) -> Mapping[str, Any]:
        """A row, whose name is that of the table's first column."""
        row: Mapping[str, Any] = known(name, self.rows, f"row of {self.name}")
        return row

    def values(self, row: str, measure: str) -> dict[int, float]:
        """The value of each seed."""
        found = self.row(row)
        one = known(measure, found["measures"], f"measure of {self.name}: {row}")
        return dict(zip(found["seeds"], one["values"], strict=True))

    def differences(self, row: str, other: str, measure: str) -> dict[int, float]:
        """What a row has more than another, by the seeds that both have."""
        ours, theirs = self.values(row, measure), self.values(other, measure)
        found = {seed: ours[seed] - theirs[seed] for seed in ours if seed in theirs}
        if not found:
            raise UnknownNameError(f"no seed is in both rows of {self.name}: {row!r} and {other!r}")
        return found

    def pair(self, text: str) -> tuple[str, str | None]:
        """'row' or 'row - other row' as one name or two; names may have a dash themselves."""
        if text in self.rows or MINUS not in text:
            self.row(text)
            return text, None
        parts = text.split(MINUS)
        ways = [
            (MINUS.join(parts[:place]), MINUS.join(parts[place:])) for place in range(1, len(parts))
        ]
        for one, other in ways:
            if one in self.rows and other in self.rows:
                return one, other
        for name in max(ways, key=lambda way: sum(name in self.rows for name in way)):
            self.row(name)
        raise AssertionError(text)


@dataclass(frozen=True)
class Records:
    """All records of a folder, read when they are asked for."""

    folder: Path = RESULTS

    @cached_property
    def _read(self) -> dict[str, Record]:
        return {}

    @cached_property
    def names(self) -> list[str]:
        """Of all records, whatever their schema."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def __getitem__(self, name: str) -> Record:
        if name not in self._read:
            known(name, dict.fromkeys(self.names, True), "record")
            content = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
            if "schema" not in content:
                raise UnknownNameError(f"{name!r} is an older record: it has no rows and measures")
            self._read[name] = Record(name, content)
        return self._read[name]


def known(name: str, among: Mapping[str, Any], what: str) -> Any:
    """What a name stands for; if for nothing, the message has the nearest name there is."""
    if name in among:
        return among[name]
    raise UnknownNameError(f"no {what} is called {name!r}{nearest(name, among)}")


def nearest(name: str, among: Iterable[str]) -> str:
    """', the nearest is ...' for the end of a message."""
    names = list(among)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
    return f"; the nearest is {close[0]!r}" if close else "; there is none"


def span(numbers: Sequence[int]) -> str:
    """'3' or '1 to 3'."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
