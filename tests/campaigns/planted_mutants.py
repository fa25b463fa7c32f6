"""Judges planted mutants of a planted module with planted tests, and writes what came of each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from campaigns.mutants.mutant import Mutant
from campaigns.mutants.packages import Package
from campaigns.mutants.running import judge_package

SOURCE = '''
LIMIT = 3


def less(a, b):
    return min(a - b, LIMIT)


def twice(a):
    """The second addition is not looked at by any test."""
    first = a + a
    second = a + 2
    return first if a < 100 else second


def alone(a):
    return a + 1
'''
TESTS = """
import functools

import pytest
from planted_module import LIMIT, less, twice


@functools.cache
def kept():
    return less(3, 1)


@pytest.fixture(scope="module")
def made():
    return twice(2)


def test_nothing(made):
    assert LIMIT < 5


def test_what_was_made(made):
    assert made == 4


def test_less():
    assert kept() == 2


def test_that_fails_anyway():
    assert less(1, 1) == 7
"""
CHANGES = {
    "killed": ("a - b", "a + b", "less"),
    "killed by another test of the fixture": ("a + a", "a - a", "twice"),
    "survived": ("a + 2", "a - 2", "twice"),
    "untested": ("a + 1", "a - 1", "alone"),
    "killed at import": ("LIMIT = 3", "LIMIT = 9", ""),
    "survived at import": ("LIMIT = 3", "LIMIT = 4", ""),
}


class Planted(Package):
    """A module that lies anywhere."""

    def files(self) -> list[str]:
        return [f"{folder}/planted_module.py" for folder in self.sources]


def main(folder: Path) -> None:
    path = folder / "planted_module.py"
    path.write_text(SOURCE)
    (folder / "test_planted.py").write_text(TESTS)
    sys.path.insert(0, str(folder))
    package = Planted("planted", (str(folder),), (str(folder / "test_planted.py"),), root=folder)
    mutants = {}
    for name, (before, after, function) in CHANGES.items():
        line = next(i for i, text in enumerate(SOURCE.splitlines(), 1) if before in text)
        changed = SOURCE.replace(before, after)
        mutants[name] = Mutant(
            str(path), line, (line, line), function, "", before, after, changed, function != ""
        )
    journal = folder / "journal.jsonl"
    judge_package(package, list(mutants.values()), journal)
    judge_package(package, list(mutants.values()), journal)  # all is known, and none judged again
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    of_key = {row["key"]: row["ended"] for row in rows}
    ended = {name: of_key[mutant.key()] for name, mutant in mutants.items()}
    (folder / "ended.json").write_text(json.dumps({"ended": ended, "rows": len(rows)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
