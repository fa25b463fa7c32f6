"""Numbers of README and the page on performance are those of stored records, of a clean commit.

A table with numbers, and a paragraph that is marked, follows ``<!-- records: NAME NAME -->``, or is
made by `benchmarks.report`. `stored_numbers` has the rule of what a record accounts for. Records of
a changed or unknown commit may only stand behind what is under a heading 'Older measurements'.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from benchmarks.evidence.record import problems
from benchmarks.report.claims import read_papers
from benchmarks.report.pages import pages
from tests.docs.stored_numbers import (
    RATIOS,
    RESULTS,
    ROOT,
    Printed,
    is_accounted,
    numbers_in,
    stored,
    units_in,
)

README, PERFORMANCE = ROOT / "README.md", ROOT / "docs" / "performance.md"
OLDER = "Older measurements"
MARK = re.compile(r"<!-- records: (.*?) -->")
# Settings that stand beside results and are no measurements: sizes of batches and of generated
# data, numbers of labels, tokens, predictions and bootstrap samples, the k of precision at k.
SETTINGS = {
    "performance.md": {
        "1", "2", "3", "5", "8", "16", "32", "64", "100", "256", "512", "600", "1,000", "3,000",
        "524,288", "670,091",
    },
    "README.md": set(),
}  # fmt: skip


@dataclass(frozen=True)
class Block:
    """A table or a marked paragraph, and the records that are named before it."""

    page: str
    line: int
    lines: tuple[str, ...]
    records: tuple[str, ...]
    is_older: bool

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_table(self) -> bool:
        return self.lines[0].startswith("|")

    def numbers(self) -> Iterator[tuple[Printed, tuple[float, ...], str]]:
        """Each number with the units and the head of the column it may be in."""
        if not self.is_table:
            text = " ".join(self.lines)
            yield from ((number, units_in(text), "") for number in numbers_in(text))
            return
        heads = cells(self.lines[0])
        for line in self.lines:
            for head, cell in zip(heads, cells(line), strict=True):
                units = units_in(f"{line} {head}")
                yield from ((number, units, head) for number in numbers_in(cell))

    def unaccounted(self) -> list[str]:
        """Numbers that no record has, and no setting is."""
        names = [name for name in self.records if name != RATIOS]
        return [
            number.text
            for number, units, head in self.numbers()
            if number.text not in SETTINGS[self.page]
            and not is_accounted(
                number, names, units=units, within=head, with_ratios=RATIOS in self.records
            )
        ]


def cells(line: str) -> list[str]:
    return line.strip("|").split("|")


def blocks(page: str, text: str) -> list[Block]:
    """All tables with numbers that are not made, and marked paragraphs."""
    text = re.sub(
        r"(<!-- (?:table|verdicts|summary|all verdicts)\b.*?<!-- end of [^\n]* -->)",
        lambda found: re.sub(r"[^\n]", "", found[1]),
        text,
        flags=re.DOTALL,
    )
    found, records, heading = [], (), ""
    line = 1
    for part in re.split(r"(\n\s*\n)", text):
        lines = tuple(part.strip("\n").split("\n"))
        if mark := MARK.fullmatch(lines[0].strip()):
            records, lines = tuple(mark[1].split()), lines[1:]
        if part.startswith("#"):
            heading = lines[0][3:] if part.startswith("## ") else heading
        elif lines and lines[0].strip():
            block = Block(page, line, lines, records, heading == OLDER)
            if records or (block.is_table and any(block.numbers())):
                found.append(block)
            records = ()
        line += part.count("\n")
    return found


BLOCKS = [b for path in (README, PERFORMANCE) for b in blocks(path.name, path.read_text("utf-8"))]
NAMES = sorted(path.stem for path in RESULTS.glob("*.json"))


def content(name: str):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def commits(record) -> list[str]:
    """What a record of either kind was measured at."""
    machine = record.get("machine", {})
    return [str(commit) for commit in machine.get("commits", [machine.get("commit")])]


def is_clean(record) -> bool:
    return all(re.fullmatch(r"[0-9a-f]{7,40}", commit) for commit in commits(record))


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_numbers_are_those_of_the_records(block):
    assert block.records, "a table with numbers names its records: <!-- records: NAME -->"
    assert block.unaccounted() == []


@pytest.mark.parametrize("block", [b for b in BLOCKS if not b.is_older], ids=str)
def test_records_behind_numbers_are_of_a_clean_commit(block):
    names = [name for name in block.records if name != RATIOS]
    assert [name for name in names if not is_clean(content(name))] == []


@pytest.mark.parametrize("name", [name for name in NAMES if "schema" in content(name)])
def test_a_record_of_the_one_schema_lacks_nothing(name):
    assert problems(content(name)) == []


@pytest.mark.parametrize("path", [p for p in pages() if p.exists()], ids=lambda p: p.name)
def test_records_that_a_page_names_exist(path):
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"benchmarks/results/([\w-]+\.json)", text)
    named += [f"{n}.json" for mark in MARK.findall(text) for n in mark.split() if n != RATIOS]
    assert [name for name in named if not (RESULTS / name).exists()] == []


def test_verdicts_are_of_clean_records():
    named = {
        name
        for paper in read_papers().values()
        for claim in paper.claims
        for name in re.findall(r"\{([^:{}]+):", claim.evidence + claim.note)
    }
    assert [name for name in sorted(named) if not is_clean(content(name))] == []


def test_a_changed_number_would_be_noticed():
    """Of numbers with three digits and more, made larger by a tenth, few are some other number."""
    noticed = []
    for block in BLOCKS:
        names = [name for name in block.records if name != RATIOS]
        for number, units, head in block.numbers():
            if len(re.sub(r"\D", "", number.text).strip("0")) < 3:
                continue
            decimals = len(number.text.partition(".")[2])
            sign = "+" if number.text[0] == "+" else ""
            doctored = Printed(f"{number.value * 1.1:{sign},.{decimals}f}")
            noticed.append(
                not is_accounted(
                    doctored, names, units=units, within=head, with_ratios=RATIOS in block.records
                )
            )
    assert len(noticed) > 50
    assert sum(noticed) > 0.8 * len(noticed)


def test_dirty_and_unknown_commits_are_not_clean():
    assert is_clean({"machine": {"commit": "3b83c7d3d5"}})
    assert not is_clean({"machine": {"commit": "3b83c7d3d5+"}})
    assert not is_clean({"machine": {"commit": None}})
    assert not is_clean({"machine": {"commits": ["3b83c7d3d5", "None"]}})
    assert not is_clean({})


def test_the_rule_needs_the_same_section_and_the_same_sign():
    found = stored("trees-training")
    value = found["results", "sets", "eurlex-titles", "p1_diff"]
    right, wrong = f"{value:+.2f}", f"{-value:+.2f}"
    assert is_accounted(Printed(right), ["trees-training"], within="eurlex-titles")
    assert not is_accounted(Printed(wrong), ["trees-training"], within="eurlex-titles")
    ratio = found["results", "sets", "debian-deps", "train_speedup_pecos"]
    assert is_accounted(Printed(f"{ratio:.3f}"), ["trees-training"], within="debian-deps")
    assert not is_accounted(Printed(f"{ratio:.3f}"), ["trees-training"], within="eurlex-titles")
