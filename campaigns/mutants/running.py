"""Judge the mutants of a package, one after the other, and keep a journal of it."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from benchmarks.machine import commit
from campaigns.mutants.changing import loaded
from campaigns.mutants.judging import SURVIVED, UNTESTED
from campaigns.mutants.mutant import Mutant
from campaigns.mutants.packages import Package
from campaigns.mutants.session import judge_at_import, run_warm
from campaigns.mutants.tests_of_lines import Coverage


def judge_package(package: Package, mutants: list[Mutant], journal: Path) -> None:
    """Judge what the journal does not know yet."""
    known = {json.loads(line)["key"] for line in _lines(journal)}
    left = [mutant for mutant in mutants if mutant.key() not in known]
    print(f"{package.name}: {len(mutants)} mutants, {len(left)} to judge", flush=True)
    if not left:
        return
    assert loaded(package.files()) == [], "a mutant must be imported in a child alone"
    coverage_file = journal.with_suffix(".coverage.json")
    _in_child(lambda: _warm(package, left, journal, coverage_file))
    _at_import(package, left, journal, coverage_file)


def _warm(package: Package, mutants: list[Mutant], journal: Path, coverage_file: Path) -> None:
    def judged(mutant: Mutant, ended: str, n_tests: int, seconds: float) -> None:
        _note(journal, mutant, ended, n_tests, seconds)

    done = run_warm(package, [m for m in mutants if m.in_body], judged)
    measured = {"seconds": done.coverage.seconds, "tests": done.coverage.tests}
    coverage_file.write_text(json.dumps({**measured, "left": done.left}))
    print(
        f"tests: {len(done.coverage.seconds)}, not asked, as they fail: {done.failed}", flush=True
    )


def _at_import(package: Package, mutants: list[Mutant], journal: Path, coverage_file: Path) -> None:
    measured = json.loads(coverage_file.read_text())
    tests = {
        file: {int(line): found for line, found in lines.items()}
        for file, lines in measured["tests"].items()
    }
    coverage = Coverage(measured["seconds"], tests)
    for mutant in mutants:
        if not mutant.in_body or mutant.key() in measured["left"]:
            begun = time.monotonic()
            ended, n_tests = judge_at_import(mutant, coverage, package.root)
            _note(journal, mutant, ended, n_tests, time.monotonic() - begun)


def _in_child(action: Callable[[], None]) -> None:
    """Run in a forked child: what it imports is not imported here."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        except BaseException:  # noqa: BLE001 - shown here, as nothing is above
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"the session of pytest ended with {os.waitstatus_to_exitcode(status)}")


def _note(journal: Path, mutant: Mutant, ended: str, n_tests: int, seconds: float) -> None:
    row = {
        "key": mutant.key(),
        "file": mutant.file,
        "line": mutant.line,
        "function": mutant.function,
        "operator": mutant.operator,
        "before": mutant.before,
        "after": mutant.after,
        "ended": ended,
        "tests": n_tests,
        "seconds": round(seconds, 2),
        "commit": commit(),
    }
    with journal.open("a") as file:
        file.write(json.dumps(row) + "\n")
    if ended in (SURVIVED, UNTESTED):
        print(f"{ended} {mutant.file}:{mutant.line} {mutant.before} -> {mutant.after}", flush=True)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
