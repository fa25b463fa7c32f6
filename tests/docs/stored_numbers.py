"""Which numbers records account for: the rule that `test_numbers` holds tables and sentences to.

A number on a page is accounted for if it equals, at the precision it is printed with, one of these
of the records that are named before it:

- a stored number, or the mean or median of a stored list,
- where the mark says ``ratios``, the quotient of two of these with the same name in neighboring
  sections, that is with paths that differ in one place (``eurlex.ours.seconds`` and
  ``eurlex.libpecos.seconds``),
- any of these in the unit that the line or the head of its table names: a share in percent, MB in
  GB, bytes in MB, a count in millions, seconds in milliseconds.

In a column whose head names a data set only what is stored under that name counts, and a number
with a sign must have it in the record. Names, code, versions and dates are no numbers here.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
NO_NUMBERS = re.compile(
    r"`[^`]*`|<!--.*?-->|\]\([^)]*\)"  # code, comments, addresses
    r"|\b\d+(?:\.\d+){2,}\b|[A-Za-z@][\w@.-]*|\^\d+|\d+\^"  # versions, names, powers
    r"|\b\d+ x \d+\b"
)
NUMBER = re.compile(r"(?<![\w.,])[-+]?\d[\d,]*(?:\.\d+)?")
UNITS = {"%": 100.0, "GB": 1e-3, "MB": 1e-6, "million": 1e-6, "ms": 1e3}
RATIOS = "ratios"
DATA = (
    "bibtex", "delicious", "debian-debtags", "debian-deps", "eurlex-titles", "yso-finna-en",
    "llms4subjects-gnd", "lf-msdocs-seealso", "lf-msdocs-links",
)  # fmt: skip

Steps = tuple[str, ...]


@dataclass(frozen=True)
class Printed:
    """A number as a page has it."""

    text: str

    @property
    def value(self) -> float:
        return float(self.text.replace(",", ""))

    @property
    def half_step(self) -> float:
        """How far the stored value may be off; thousands are printed to the hundred."""
        decimals = len(self.text.partition(".")[2])
        is_rounded = "," in self.text and self.text.endswith("00")
        return 0.5000001 * 10.0 ** (2 if is_rounded else -decimals)


def numbers_in(text: str) -> list[Printed]:
    """All numbers of a line or a paragraph, apart from names, code and versions."""
    return [Printed(found.rstrip(",")) for found in NUMBER.findall(NO_NUMBERS.sub(" ", text))]


def units_in(text: str) -> tuple[float, ...]:
    """By what stored numbers may be multiplied, as the words of a line and its table's head say."""
    named = [factor for unit, factor in UNITS.items() if re.search(rf"(?<!\w){unit}(?!\w)", text)]
    return (1.0, *named)


def leaves(content: Any, path: Steps = ()) -> Iterator[tuple[Steps, float]]:
    """Numbers of a record with their paths, and means and medians of lists."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from leaves(value, (*path, key))
    elif isinstance(content, list):
        for place, value in enumerate(content):
            yield from leaves(value, (*path, str(place)))
        yield from middles(content, path)
    elif is_number(content):
        yield path, float(content)


def middles(content: list[Any], path: Steps) -> Iterator[tuple[Steps, float]]:
    """Mean and median of a list of numbers, or of each number of a list of sections."""
    if content and all(is_number(value) for value in content):
        yield (*path, "mean"), statistics.fmean(content)
        yield (*path, "median"), statistics.median(content)
    elif content and all(isinstance(value, dict) for value in content):
        for key in content[0]:
            yield from middles([value.get(key) for value in content], (*path, key))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@cache
def stored(name: str) -> dict[Steps, float]:
    """All numbers of a record but those about the machine; the name of its data set leads."""
    content = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    content.pop("machine", None)
    results = content.get("results", {})
    data = results.get("data") if isinstance(results, dict) else None
    return dict(leaves(content, (data,) if isinstance(data, str) else ()))


@cache
def ratios(name: str) -> dict[Steps, float]:
    """Quotients of numbers whose paths differ in one place, but not in the last name."""
    alike: dict[Any, list[tuple[Steps, float]]] = defaultdict(list)
    for path, value in stored(name).items():
        last = max((i for i, part in enumerate(path) if not part.isdigit()), default=0)
        for place in range(last):
            alike[place, path[:place], path[place + 1 :]].append((path, value))
    return {
        (*a, *b): x / y for some in alike.values() for a, x in some for b, y in some if a != b and y
    }


def is_accounted(
    number: Printed,
    records: Iterable[str],
    *,
    units: Iterable[float] = (1.0,),
    within: str = "",
    with_ratios: bool = False,
) -> bool:
    """Whether one of the records has it, in one of the units.

    `within` is the head of the number's column: if it names a data set that a record has a section
    of, only what is there counts.
    """
    is_signed = number.text[0] in "+-"
    found = [
        (path, value)
        for name in records
        for path, value in (*stored(name).items(), *(ratios(name) if with_ratios else {}).items())
    ]
    heads = [name for name in DATA if name in within]
    named = [value for path, value in found if any(name in path for name in heads)]
    return any(
        abs((value if is_signed else abs(value)) * unit - number.value) <= number.half_step
        for value in (named or [value for _, value in found])
        for unit in units
    )
