"""Numbers of README and the documentation are those of stored records, of a clean commit.

Tables of measurements, and values in sentences, are made by `benchmarks.report`: that all pages are
as it makes them is in `tests/benchmarks/test_report.py`. Here: records have the one form and lack
nothing, but for those that `benchmarks.report.older` lists, and on README and the page on
performance these may only stand behind what is under a heading 'Older measurements'.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.report.claims import read_papers
from benchmarks.report.layouts import TABLES, read
from benchmarks.report.older import OLDER
from benchmarks.report.pages import pages
from benchmarks.report.storing import RESULTS, is_clean, lacking, problems

ROOT = Path(__file__).parents[2]
README, PERFORMANCE = ROOT / "README.md", ROOT / "docs" / "performance.md"
OLDER_HEADING = "## Older measurements"
MADE = re.compile(r"<!-- (?:table|verdicts|summary|all verdicts)\b.*?<!-- end of [^\n]* -->", re.S)
NAMES = sorted(path.stem for path in RESULTS.glob("*.json"))


def content(name: str):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [README, PERFORMANCE], ids=lambda path: path.name)
def test_tables_with_numbers_are_made(page):
    by_hand = MADE.sub("", page.read_text("utf-8"))
    rows = [line for line in by_hand.splitlines() if line.startswith("|")]
    bare = [re.sub(r"`[^`]*`|\]\([^)]*\)|[A-Za-z@]\w*", "", row) for row in rows]
    assert [row for row, text in zip(rows, bare, strict=True) if re.search(r"\d", text)] == []


def test_what_performance_names_before_older_measurements_is_of_a_clean_commit():
    text = README.read_text("utf-8") + PERFORMANCE.read_text("utf-8").partition(OLDER_HEADING)[0]
    layouts = read(TABLES / "performance.toml")
    named = [layouts[name] for name in re.findall(r"<!-- table: ([\w-]+) -->", text)]
    assert len(named) > 5
    told = json.dumps(named) + "".join(re.findall(r"<!-- value: [^\n]*? -->", text))
    records = {name for name in NAMES if re.search(rf"(?<![\w-]){name}[:\"]", told)}
    assert len(records) > 10
    assert [name for name in sorted(records) if not is_clean(content(name))] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_record_has_the_one_form(name):
    assert problems(content(name)) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OLDER])
def test_a_record_lacks_nothing(name):
    assert lacking(content(name)) == []


@pytest.mark.parametrize("name", OLDER)
def test_an_older_record_is_still_needed_in_the_list(name):
    assert lacking(content(name)), "it was run again: take it off benchmarks.report.older"


@pytest.mark.parametrize("path", [*TABLES.glob("*.toml")], ids=lambda path: path.stem)
def test_each_table_that_is_described_stands_in_its_page(path):
    page = ROOT / "docs" / f"{path.stem}.md"
    named = re.findall(r"<!-- table: ([\w-]+) -->", page.read_text("utf-8"))
    assert sorted(named) == sorted(read(path))


@pytest.mark.parametrize("path", [p for p in pages() if p.exists()], ids=lambda p: p.name)
def test_records_that_a_page_names_exist(path):
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"benchmarks/results/([\w-]+\.json)", text)
    assert [name for name in named if not (RESULTS / name).exists()] == []


def test_verdicts_are_of_clean_records():
    named = {
        name
        for paper in read_papers().values()
        for claim in paper.claims
        for name in re.findall(r"\{([^:{}]+):", claim.evidence + claim.note)
    }
    assert [name for name in sorted(named) if not is_clean(content(name))] == []


def test_dirty_and_unknown_commits_are_not_clean():
    assert is_clean({"machine": {"commits": ["3b83c7d3d5"]}})
    assert not is_clean({"machine": {"commits": ["3b83c7d3d5+"]}})
    assert not is_clean({"machine": {"commits": ["3b83c7d3d5", "None"]}})
    assert not is_clean({})
