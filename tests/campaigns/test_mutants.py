"""The mutation campaign: a change is put in place, and what the tests say of it is told apart."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from campaigns.mutants.audited import LIST
from campaigns.mutants.changing import functions_to_change, import_changed
from campaigns.mutants.judging import KILLED, SURVIVED, TIMEOUT, UNTESTED, judge
from campaigns.mutants.mutant import Mutant
from campaigns.mutants.packages import PACKAGES, ROOT
from campaigns.mutants.tests_of_lines import MOST_SECONDS, Coverage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are forked")

SOURCE = """
LIMIT = 3


class Counter:
    def __init__(self, start):
        self.count = start

    def more(self, by):
        def added():
            return self.count + by

        return min(added(), LIMIT)
"""


@pytest.fixture
def planted(tmp_path, monkeypatch):
    (tmp_path / "planted_counter.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "planted_counter.py"
    sys.modules.pop("planted_counter", None)


def mutant(path: Path, before: str, after: str, *, in_body: bool = True) -> Mutant:
    changed = SOURCE.replace(before, after)
    line = next(i for i, text in enumerate(SOURCE.splitlines(), 1) if before in text)
    where = "Counter.more.added" if in_body else ""
    return Mutant(str(path), line, (line, line), where, "swap_op", before, after, changed, in_body)


def test_a_changed_body_is_what_everyone_runs_who_has_imported_the_function(planted):
    module = importlib.import_module("planted_counter")
    held = module.Counter(1).more
    assert held(1) == 2
    (function,), code = functions_to_change(mutant(planted, "count + by", "count - by"))
    function.__code__ = code
    assert held(1) == 0


def test_a_function_that_nobody_has_is_changed_at_import(planted):
    assert functions_to_change(mutant(planted, "count + by", "count - by")) is None


def test_a_changed_module_is_imported_in_the_child_alone(planted):
    changed = mutant(planted, "LIMIT = 3", "LIMIT = 4", in_body=False)

    def passes(folder: Path) -> bool:
        import_changed(changed.file, changed.source)
        return importlib.import_module("planted_counter").LIMIT == 3

    assert judge(passes, 10) == KILLED
    assert importlib.import_module("planted_counter").LIMIT == 3


def test_how_a_child_ends_is_told_apart():
    def forever(folder: Path) -> bool:
        while True:
            pass

    def raises(folder: Path) -> bool:
        raise RuntimeError

    assert judge(lambda folder: True, 10) == SURVIVED
    assert judge(lambda folder: False, 10) == KILLED
    assert judge(raises, 10) == KILLED
    assert judge(forever, 0.05) == TIMEOUT


def test_the_lines_that_run_are_noted_and_their_quickest_tests_asked(planted):
    code = f"""
import sys
sys.path.insert(0, {str(planted.parent)!r})
import planted_counter
from campaigns.mutants.tests_of_lines import Tracer
_, lines = Tracer([{str(planted)!r}]).during(lambda: planted_counter.Counter(1).more(1))
print(*(line for _, line in lines))
"""  # in a process of its own: this one may be traced, or have forked
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    wanted = mutant(planted, "count + by", "count - by")
    assert str(wanted.line) in done.stdout.split()
    seconds = {"a::slow": MOST_SECONDS, "a::quick": 0.1, "b::other": 0.1}
    coverage = Coverage(seconds, {str(planted): {wanted.line: ["a::slow", "a::quick"]}})
    assert coverage.of(wanted) == ["a::quick"]
    assert coverage.of(mutant(planted, "LIMIT)", "None)")) == []


def test_the_same_sample_is_drawn_and_none_of_types_or_messages():
    pytest.importorskip("libcst")
    pytest.importorskip("mutmut")
    from campaigns.mutants.making import sample

    files = ["multitudes/metrics/sets.py", "multitudes/metrics/terms.py"]
    drawn = sample(files, 25, seed=3)
    assert drawn == sample(files, 25, seed=3)
    assert len({(m.file, m.line) for m in drawn}) == len(drawn) == 25
    assert not any(m.before.startswith(("import", "from", "raise", '"""')) for m in drawn)


def test_what_audits_changed_is_still_there_to_be_changed():
    with LIST.open("rb") as file:
        rows = tomllib.load(file)["mutant"]
    for row in rows:
        assert (ROOT / row["file"]).read_text().count(row["before"]) == 1, row["what"]
    stored = json.loads((ROOT / "campaigns" / "results" / "audited-mutants.json").read_text())
    assert stored["result"] == {KILLED: len(rows)}
    assert [row["what"] for row in stored["mutants"]] == [row["what"] for row in rows]


def test_planted_mutants_are_killed_by_the_tests_that_run_their_line(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "tests.campaigns.planted_mutants", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    found = json.loads((tmp_path / "ended.json").read_text())
    assert found["ended"] == {
        "killed": KILLED,
        "killed by another test of the fixture": KILLED,
        "survived": SURVIVED,
        "untested": UNTESTED,
        "killed at import": KILLED,
        "survived at import": SURVIVED,
    }
    assert found["rows"] == 6


@pytest.mark.parametrize("record", ["mutants", "mutants-fresh", "mutants-third"])
def test_the_page_says_what_the_records_say(record):
    page = (ROOT / "docs" / "campaigns.md").read_text()
    of_record = page[page.index(f"campaigns/results/{record}.json`") :]
    stored = json.loads((ROOT / "campaigns" / "results" / f"{record}.json").read_text())["packages"]
    for name, found in stored.items():
        noticed = found["killed"] + found["timeout"]
        numbers = found["mutants"], noticed, found["survived"], found["untested"]
        row = " | ".join(map(str, [*numbers, f"{found['survivors_percent']:g} %"]))
        shown = "the losses" if name == "losses" else f"`{name}`"
        start = of_record.index(f"| {shown} |")
        assert of_record[start:].startswith(f"| {shown} | {row} |"), name


@pytest.mark.parametrize(
    ("record", "most"), [("mutants", 15), ("mutants-fresh", 25), ("mutants-third", 15)]
)
def test_few_mutants_survive_and_each_has_a_reason(record, most):
    stored = json.loads((ROOT / "campaigns" / "results" / f"{record}.json").read_text())["packages"]
    assert stored.keys() <= PACKAGES.keys()
    assert "metrics" in stored
    for name, found in stored.items():
        assert found["killed"] + found["timeout"] + len(found["survivors"]) == found["mutants"]
        assert found["survivors_percent"] <= most, name
        assert all(row["reason"] for row in found["survivors"]), name
