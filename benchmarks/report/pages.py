"""Pages whose tables and numbers are made from records, between marks that stay in the page.

=========================================================  =============================
``<!-- table: RECORD | MEASURE, ... | row; row; ... -->``   ``<!-- end of table -->``
``<!-- table: NAME -->``, of benchmarks/tables/PAGE.toml    ``<!-- end of table -->``
``<!-- value: RECORD: ROW | MEASURE -->``                   ``<!-- end -->``
``<!-- verdicts: NAME -->``, a file of benchmarks/claims    ``<!-- end of verdicts -->``
``<!-- summary of verdicts -->``                            ``<!-- end of summary -->``
``<!-- all verdicts -->``                                   ``<!-- end of all verdicts -->``
=========================================================  =============================

Rows are optional: a table without has all rows. A value of ``ROW - OTHER ROW`` is the mean of the
differences by seed. `layouts` says how the tables of a page's file are described, and `references`
how a value is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.machine import ROOT
from benchmarks.report.claims import ClaimError, Paper, read_papers, sections, summary
from benchmarks.report.layouts import layout_table
from benchmarks.report.records import Records, known
from benchmarks.report.references import Reference
from benchmarks.report.tables import result_table

Make = Callable[["Sources", str, str], str]  # of sources, the order, and the page


@dataclass(frozen=True)
class Sources:
    """What pages are made from."""

    records: Records = field(default_factory=Records)
    papers: Mapping[str, Paper] = field(default_factory=read_papers)


@dataclass(frozen=True)
class Mark:
    """What stands between two comments: the first has the order, the second ends it."""

    start: str
    end: str
    make: Make
    is_block: bool = True

    @property
    def pattern(self) -> re.Pattern[str]:
        """Groups: the first comment, its order, the second comment."""
        return re.compile(rf"(<!-- {self.start} -->)(?s:.*?)(<!-- {self.end} -->)")

    def replaced(self, text: str, sources: Sources, problems: list[str], page: str) -> str:
        """The text with what stands there made anew; what cannot be made stays, and is told."""

        def new(found: re.Match[str]) -> str:
            order = found["order"].strip() if "order" in found.groupdict() else ""
            try:
                made = self.make(sources, order, page)
            except ValueError as error:
                line = text.count("\n", 0, found.start()) + 1
                problems.append(f"{page}:{line}: {error}")
                return found[0]
            first, last = found[1], found.groups()[-1]
            return f"{first}\n\n{made}\n{last}" if self.is_block else f"{first}{made}{last}"

        return self.pattern.sub(new, text)


def verdicts(sources: Sources, name: str, page: str) -> str:
    paper: Paper = known(name, sources.papers, "file of claims")
    return paper.verdicts(sources.records)


MARKS = (
    Mark(
        r"table: (?P<order>[^\n|]+\|[^\n]*?)", "end of table",
        lambda sources, order, page: result_table(order, sources.records),
    ),
    Mark(
        r"table: (?P<order>[\w-]+)", "end of table",
        lambda sources, order, page: layout_table(page, order, sources.records),
    ),
    Mark(
        r"value: (?P<order>[^\n]*?)", "end",
        lambda sources, order, page: str(Reference.parse(order, sources.records)),
        is_block=False,
    ),
    Mark(r"verdicts: (?P<order>[^\n]*?)", "end of verdicts", verdicts),
    Mark(
        "summary of verdicts", "end of summary",
        lambda sources, order, page: summary(sources.papers.values()),
    ),
    Mark(
        "all verdicts", "end of all verdicts",
        lambda sources, order, page: sections(sources.papers.values(), sources.records),
    ),
)  # fmt: skip


def pages(root: Path = ROOT) -> list[Path]:
    """README and all of the documentation."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def remade(text: str, sources: Sources, problems: list[str], page: str) -> str:
    """A page with all that is made; adds to `problems` what cannot be."""
    for mark in MARKS:
        text = mark.replaced(text, sources, problems, page)
    return text


def remake(*, write: bool, root: Path = ROOT) -> tuple[list[str], list[str]]:
    """Make all pages anew; returns those that were not up to date, and what is wrong with marks."""
    changed: list[str] = []
    problems: list[str] = []
    try:
        sources = Sources()
    except ClaimError as error:
        return [], [str(error)]
    for path in pages(root):
        page = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        new = remade(text, sources, problems, page)
        if new != text:
            changed.append(page)
            if write:
                path.write_text(new, encoding="utf-8")
    return changed, problems
