"""A session of pytest that measures its tests, and then forks a child for each mutant."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
from _pytest.runner import runtestprotocol

from campaigns.mutants.changing import change_function, forget_results, import_changed
from campaigns.mutants.judging import UNTESTED, judge
from campaigns.mutants.mutant import Mutant
from campaigns.mutants.packages import ROOT, Package
from campaigns.mutants.tests_of_lines import Coverage, Tracer

ARGUMENTS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--capture=no", "-W", "ignore")
Judged = Callable[[Mutant, str, int, float], None]


class Warm:
    """A plugin: all tests run once and are measured, then mutants are judged, one by one."""

    def __init__(self, package: Package, mutants: list[Mutant], judged: Judged) -> None:
        self.package = package
        self.mutants = mutants
        self.judged = judged
        self.coverage = Coverage()
        self.failed: list[str] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {i.nodeid: i for i in session.items if self.package.asks(i.nodeid)}
        self._measure(list(items.values()))
        for mutant in self.mutants:
            begun = time.monotonic()
            tests = [test for test in self.coverage.of(mutant) if test not in self.failed]
            asked = [items[test] for test in tests]
            limit = 10 + 4 * self.coverage.time_of(tests)
            ended = judge(lambda at: _passes(mutant, asked, at), limit) if asked else UNTESTED  # noqa: B023
            self.judged(mutant, ended, len(asked), time.monotonic() - begun)
        return True

    def _measure(self, items: list[pytest.Item]) -> None:
        """Run everything once, and note the lines and seconds of each test."""
        tracer = Tracer(self.package.files())
        lines: dict[tuple[str, int], set[str]] = defaultdict(set)
        for place, item in enumerate(items):
            forget_results()
            following = items[place + 1] if place + 1 < len(items) else None
            begun = time.process_time()
            passed, ran = tracer.during(lambda: _run(item, following))  # noqa: B023
            self.coverage.seconds[item.nodeid] = round(time.process_time() - begun, 3)
            if not passed:
                self.failed.append(item.nodeid)
            for line in ran:
                lines[line].add(item.nodeid)
        for (file, line), tests in sorted(lines.items()):
            self.coverage.tests.setdefault(file, {})[line] = sorted(tests)


def _run(item: pytest.Item, following: pytest.Item | None) -> bool:
    item.funcargs = {}  # type: ignore[attr-defined]
    reports = runtestprotocol(item, log=False, nextitem=following)
    return not any(report.failed for report in reports)


def _passes(mutant: Mutant, items: list[pytest.Item], folder: Path) -> bool:
    if not change_function(mutant):
        return True
    forget_results()
    items[0].config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
    return all(
        _run(item, items[place + 1] if place + 1 < len(items) else None)
        for place, item in enumerate(items)
    )


def run_warm(package: Package, mutants: list[Mutant], judged: Judged) -> Warm:
    """Judge mutants in the bodies of functions."""
    _quick_hypothesis()
    plugin = Warm(package, mutants, judged)
    status = pytest.main([*ARGUMENTS, *package.test_files()], plugins=[plugin])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit(f"pytest ended with {status}")
    return plugin


def judge_at_import(mutant: Mutant, coverage: Coverage) -> tuple[str, int]:
    """Judge a mutant of what runs when its module is imported; return also how many tests ran."""
    tests = coverage.of(mutant)
    limit = 60 + 4 * coverage.time_of(tests)
    return run_alone(tests, (mutant.file, mutant.source), seconds=limit), len(tests)


def run_alone(tests: list[str], changed: tuple[str, str] | None = None, *, seconds: float) -> str:
    """Run tests in a child that imports the library anew, with the changed source of a file."""

    def run(folder: Path) -> bool:
        _quick_hypothesis()
        if changed is not None:
            import_changed(*changed)
        os.chdir(ROOT)
        return pytest.main([*ARGUMENTS, "-x", f"--basetemp={folder / 'tmp'}", *tests]) == 0

    return judge(run, seconds)


def load_what_is_not_mutated() -> None:
    """Import what takes long once, for all children."""
    import numba  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    try:
        import torch
        import transformers  # noqa: F401

        torch.set_num_threads(1)
    except ImportError:
        print("without torch: tests of networks are skipped, and their mutants survive")


def _quick_hypothesis() -> None:
    """Draw the same examples for every mutant, and do not reduce the ones that fail."""
    as_it_is = hypothesis.settings.register_profile
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)

    def register(name: str, *args: object, **settings: object) -> None:
        as_it_is(name, *args, **settings, phases=phases, database=None, derandomize=True)  # type: ignore[arg-type]

    # The class guards its attributes, and the tests' own profile is registered as they are loaded.
    type.__setattr__(hypothesis.settings, "register_profile", staticmethod(register))
