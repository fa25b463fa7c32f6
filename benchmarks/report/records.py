"""Values of records of the one schema, by record, row and measure; unknown names are told."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.report.rows import measured
from benchmarks.report.storing import RESULTS

SIGNS = (" - ", " / ")  # between two rows: a difference, or a ratio
SEEDS = "seeds"
SHOWN_COMMITS = 8  # characters of a commit


class UnknownNameError(ValueError):
    """A page or a claim asks for a record, row or measure that is not there."""


@dataclass(frozen=True)
class Record:
    """One file of ``benchmarks/results`` in the schema of `benchmarks.report.storing`."""

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
        commits = map(str, self.content["machine"]["commits"])
        return [f"{c[:SHOWN_COMMITS]}{'+' * c.endswith('+')}" for c in commits]

    def row(self, name: str) -> Mapping[str, Any]:
        """A row, whose name is that of the table's first column."""
        row: Mapping[str, Any] = known(name, self.rows, f"row of {self.name}")
        return row

    def measure(self, row: str, name: str) -> Mapping[str, Any]:
        """A measure of a row, with its values and their middle; ``seeds`` is how many it has."""
        if name == SEEDS and (seeds := self.row(row)["seeds"]):
            return measured(len(seeds))
        one: Mapping[str, Any] = known(
            name, self.row(row)["measures"], f"measure of {self.name}: {row}"
        )
        return one

    def values(self, row: str, measure: str) -> dict[int, float]:
        """The value of each seed or round."""
        values, seeds = self.measure(row, measure)["values"], self.row(row)["seeds"]
        places = seeds if len(seeds) == len(values) else range(len(values))
        return dict(zip(places, values, strict=True))

    def operands(self, text: str, measure: str) -> tuple[str, str, str]:
        """'row', 'row - other' or 'row / other' in parts; names may have a dash themselves.

        A ratio that was stored as such is a row of its own.
        """
        ways = [
            (text[: at.start()], at[0].strip(), text[at.end() :])
            for at in re.finditer("|".join(map(re.escape, SIGNS)), text)
        ]
        if not ways or (text in self.rows and measure in self.row(text)["measures"]):
            self.row(text)
            return text, "", ""
        for one, sign, other in ways:
            if one in self.rows and other in self.rows:
                return one, sign, other
        for name in max(ways, key=lambda way: sum(name in self.rows for name in way))[::2]:
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
        """Of all records."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def __getitem__(self, name: str) -> Record:
        if name not in self._read:
            known(name, dict.fromkeys(self.names, True), "record")
            content = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
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
