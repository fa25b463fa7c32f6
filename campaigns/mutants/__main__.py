"""Change lines of the library, one at a time: a test should fail.

``python -m campaigns.mutants --mutants 160 --seed 1``
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from pathlib import Path

import campaigns  # noqa: F401 - sets the threads of linear algebra before numpy is imported
from campaigns.mutants.changing import loaded
from campaigns.mutants.judging import UNTESTED
from campaigns.mutants.making import sample
from campaigns.mutants.mutant import Mutant
from campaigns.mutants.packages import PACKAGES, ROOT, Package
from campaigns.mutants.record import store
from campaigns.mutants.session import judge_at_import, load_what_is_not_mutated, run_warm
from campaigns.mutants.tests_of_lines import Coverage

JOURNAL = ROOT / "tmp" / "mutants"


def main() -> int:
    """Judge a sample of mutants of each package; what was judged before is not judged again."""
    given = _parser().parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    load_what_is_not_mutated()
    for name in given.only or PACKAGES:
        package = PACKAGES[name]
        mutants = sample(package.files(), given.mutants, given.seed)
        _run(package, mutants, given.folder / f"{name}.jsonl")
    if given.output:
        store(given.folder, given.output, seed=given.seed, number=given.mutants)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m campaigns.mutants")
    add = parser.add_argument
    add("--mutants", type=int, default=160, help="how many of each package; one of a line at most")
    add("--seed", type=int, default=1)
    add("--only", action="append", choices=PACKAGES, help="packages; all by default")
    add("--folder", type=Path, default=JOURNAL, help="where the journals are, to go on from")
    add("--output", type=Path, help="where the record goes, once all packages are done")
    return parser


def _run(package: Package, mutants: list[Mutant], journal: Path) -> None:
    known = {json.loads(line)["key"] for line in _lines(journal)}
    left = [mutant for mutant in mutants if mutant.key() not in known]
    print(f"{package.name}: {len(mutants)} mutants, {len(left)} to judge", flush=True)
    if not left:
        return
    assert loaded(package.files()) == [], "a mutant must be imported in a child alone"
    coverage_file = journal.with_suffix(".coverage.json")
    _in_child(lambda: _warm(package, left, journal, coverage_file))
    _at_import(left, journal, coverage_file)


def _warm(package: Package, mutants: list[Mutant], journal: Path, coverage_file: Path) -> None:
    def judged(mutant: Mutant, ended: str, n_tests: int, seconds: float) -> None:
        _note(journal, mutant, ended, n_tests, seconds)

    done = run_warm(package, [m for m in mutants if m.in_body], judged)
    measured = {"seconds": done.coverage.seconds, "tests": done.coverage.tests}
    coverage_file.write_text(json.dumps({**measured, "failed": done.failed}))
    print(f"tests: {len(done.coverage.seconds)}, failed alone: {done.failed}", flush=True)


def _at_import(mutants: list[Mutant], journal: Path, coverage_file: Path) -> None:
    measured = json.loads(coverage_file.read_text())
    failed = set(measured["failed"])
    tests = {
        file: {int(line): [t for t in found if t not in failed] for line, found in lines.items()}
        for file, lines in measured["tests"].items()
    }
    seconds = {test: took for test, took in measured["seconds"].items() if test not in failed}
    for mutant in mutants:
        if not mutant.in_body:
            begun = time.monotonic()
            ended, n_tests = judge_at_import(mutant, Coverage(seconds, tests))
            _note(journal, mutant, ended, n_tests, time.monotonic() - begun)


def _in_child(action: object) -> None:
    """Run in a forked child: what it imports is not imported here."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()  # type: ignore[operator]
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
    }
    with journal.open("a") as file:
        file.write(json.dumps(row) + "\n")
    if ended in ("survived", UNTESTED):
        print(f"{ended} {mutant.file}:{mutant.line} {mutant.before} -> {mutant.after}", flush=True)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
