"""References to values of records, ``RECORD: ROW | MEASURE``, and how values are written."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmarks.report.means import mean_and_margin
from benchmarks.report.records import Record, Records, UnknownNameError, known

IN_BRACES = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Reference:
    """A measure of a row, or what a row has more of it than another row, over their seeds."""

    record: Record
    row: str
    other: str | None
    measure: str

    @classmethod
    def parse(cls, text: str, records: Records) -> Reference:
        """Of ``RECORD: ROW | MEASURE`` or ``RECORD: ROW - OTHER ROW | MEASURE``."""
        name, colon, rest = text.partition(":")
        rows, bar, measure = rest.rpartition("|")
        if not colon or not bar:
            raise UnknownNameError(f"{text!r} is not of the form RECORD: ROW | MEASURE")
        record = records[name.strip()]
        row, other = record.pair(rows.strip())
        for one in filter(None, (row, other)):
            known(measure.strip(), record.row(one)["measures"], f"measure of {record.name}: {one}")
        return cls(record, row, other, measure.strip())

    @property
    def seeds(self) -> int:
        """How many values the mean is of."""
        return len(self._values())

    def __str__(self) -> str:
        mean, margin = mean_and_margin(list(self._values().values()))
        if self.other is None:
            return written(mean, margin)
        scale = max(map(abs, self.record.values(self.row, self.measure).values()))
        return written(mean, margin, sign=True, digits=digits_for(scale))

    def _values(self) -> dict[int, float]:
        if self.other is None:
            return self.record.values(self.row, self.measure)
        return self.record.differences(self.row, self.other, self.measure)


def filled(text: str, records: Records) -> tuple[str, list[Reference]]:
    """A text whose references in braces are replaced by what they stand for, and the references."""
    found = [Reference.parse(inner, records) for inner in IN_BRACES.findall(text)]
    shown = iter(found)
    return IN_BRACES.sub(lambda _: str(next(shown)), text), found


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
