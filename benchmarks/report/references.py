"""References to values of records, ``RECORD: ROW | MEASURE``, and how values are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.report.records import Record, Records, UnknownNameError
from benchmarks.report.rows import Rounds, measured, middle

IN_BRACES = re.compile(r"\{([^{}]*)\}")
FORMAT = re.compile(r"(?P<form>[^ ]*)(?: x(?P<factor>[\de.-]+))?(?P<margin> ±)?")
COMBINED: Mapping[str, Callable[[float, float], float]] = {
    "-": lambda one, other: one - other,
    "/": lambda one, other: one / other,
}


@dataclass(frozen=True)
class Reference:
    """A measure of a row, or its difference to another row, or their ratio, by seeds or rounds.

    ``RECORD: ROW | MEASURE``, ``RECORD: ROW - OTHER ROW | MEASURE``, ``RECORD: ROW / OTHER ROW |
    MEASURE``; and behind a second bar how it is written, by default as `written` does: Python's
    format, a factor for another unit, and ± for a margin: ``| .1f x1000 ±``.
    """

    record: Record
    row: str
    sign: str
    other: str
    measure: str
    form: str = ""

    @classmethod
    def parse(cls, text: str, records: Records, among: Sequence[str] = ()) -> Reference:
        """Of a text; without a record it is the first of `among` that has the row."""
        rows, *parts = (part.strip() for part in text.split("|"))
        name, colon, rest = rows.partition(":")
        if colon and (name in records.names or not among):
            rows = rest.strip()
            candidates: Sequence[str] = [name]
        else:
            candidates = among
        if not candidates or not 1 <= len(parts) <= 2:
            raise UnknownNameError(f"{text!r} is not of the form RECORD: ROW | MEASURE | FORMAT")
        for place, candidate in enumerate(candidates, start=1):
            record = records[candidate]
            try:
                row, sign, other = record.operands(rows, parts[0])
            except UnknownNameError:
                if place == len(candidates):
                    raise
            else:
                break
        for one in filter(None, (row, other)):
            record.measure(one, parts[0])
        return cls(record, row, sign, other, *parts)

    @property
    def seeds(self) -> int:
        """How many values its middle is of."""
        return len(self.found["values"])

    @property
    def found(self) -> Mapping[str, Any]:
        """All values, their middle and its interval."""
        measure = self.record.measure(self.row, self.measure)
        if not self.sign:
            return measure
        ours = self.record.values(self.row, self.measure)
        theirs = self.record.values(self.other, self.measure)
        values = [
            COMBINED[self.sign](ours[place], theirs[place]) for place in ours if place in theirs
        ]
        if not values:
            raise UnknownNameError(
                f"no seed is in both rows of {self.record.name}: {self.row!r} and {self.other!r}"
            )
        return measured(Rounds(values) if "median" in measure else values)

    def __str__(self) -> str:
        found = self.found
        value, margin = middle(found), found.get("margin")
        if self.form:
            return formatted(value, margin, self.form)
        if self.sign != "-":
            return written(value, margin)
        scale = max(map(abs, self.record.values(self.row, self.measure).values()))
        return written(value, margin, sign=True, digits=digits_for(scale))


def filled(text: str, records: Records, among: Sequence[str] = ()) -> tuple[str, list[Reference]]:
    """A text whose references in braces are replaced by what they stand for, and the references."""
    found = [Reference.parse(inner, records, among) for inner in IN_BRACES.findall(text)]
    shown = iter(found)
    return IN_BRACES.sub(lambda _: str(next(shown)), text), found


def formatted(value: float, margin: float | None, form: str) -> str:
    """As the page asks for it."""
    asked = FORMAT.fullmatch(form)
    if asked is None:
        raise UnknownNameError(f"{form!r} is no format such as .1f, .1f x1000 or .1f ±")
    factor = float(asked["factor"] or 1)
    try:
        shown = format(value * factor, asked["form"])
        if asked["margin"] and margin is not None:
            shown += f" ± {format(margin * factor, asked['form'])}"
    except ValueError as error:
        raise UnknownNameError(f"{form!r}: {error}") from error
    return shown


def written(
    mean: float, margin: float | None, *, sign: bool = False, digits: int | None = None
) -> str:
    """'71.20 ± 0.15'; without a margin where there is a single seed."""
    digits = digits_for(mean) if digits is None else digits
    form = f"{'+' if sign else ''},.{digits}f"
    return format(mean, form) + ("" if margin is None else f" ± {margin:,.{digits}f}")


def digits_for(value: float) -> int:
    """Digits after the point: two for percentages, more for small values and fewer for large."""
    size = abs(value)
    steps = ((1000, 0), (100, 1), (1, 2), (0.01, 3))
    return next((digits for least, digits in steps if size >= least), 2 if size == 0 else 5)
