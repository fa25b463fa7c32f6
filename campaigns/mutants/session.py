"""A session of pytest that measures its tests, and then forks a child for each mutant."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
from _pytest.runner import call_and_report

from campaigns.mutants.changing import (
    Change,
    forget_results,
    functions_to_change,
    import_changed,
)
from campaigns.mutants.judging import SURVIVED, UNTESTED, judge
from campaigns.mutants.mutant import Mutant
from campaigns.mutants.packages import ROOT, Package
from campaigns.mutants.tests_of_lines import Coverage, Tracer

PLUGINS = ("-p", "_hypothesis_pytestplugin", "-p", "pytest_timeout")
ARGUMENTS = ("-q", "-p", "no:cacheprovider", *PLUGINS, "--capture=no", "-W", "ignore")
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # some take a second to import, in each child
SLACK = 10.0
"""Seconds of CPU time that a child gets beyond four times what its tests took."""
Judged = Callable[[Mutant, str, int, float], None]


class Warm:
    """A plugin: all tests run once and are measured, then mutants are judged, one by one."""

    def __init__(self, package: Package, mutants: list[Mutant], judged: Judged) -> None:
        self.package = package
        self.mutants = mutants
        self.judged = judged
        self.coverage = Coverage()
        self.failed: list[str] = []
        self.left: list[str] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {i.nodeid: i for i in session.items if self.package.asks(i.nodeid)}
        self._measure(list(items.values()))
        self._ask_without_a_change(items)
        for mutant in self.mutants:
            found = functions_to_change(mutant)
            if found is None:
                self.left.append(mutant.key())
                continue
            begun = time.monotonic()
            tests = self.coverage.of(mutant)
            asked = [items[test] for test in tests]
            limit = SLACK + 4 * self.coverage.time_of(tests)
            ended = judge(lambda at: _passes(found, asked, at), limit) if asked else UNTESTED  # noqa: B023
            self.judged(mutant, ended, len(asked), time.monotonic() - begun)
        return True

    def _measure(self, items: list[pytest.Item]) -> None:
        """Run everything once, and note the lines and seconds of each test.

        What a fixture runs is noted for all tests of its file: other tests may share it.
        """
        tracer = Tracer(self.package.files())
        for place, item in enumerate(items):
            forget_results()
            following = items[place + 1] if place + 1 < len(items) else None
            begun = time.process_time()
            setup, prepared = tracer.during(lambda: _prepared(item))  # noqa: B023
            passed, ran = tracer.during(lambda: _run_prepared(item, following, setup.passed))  # noqa: B023
            self.coverage.seconds[item.nodeid] = round(time.process_time() - begun, 3)
            if setup.failed or not passed:
                self.failed.append(item.nodeid)
            of_file = [i.nodeid for i in items if i.path == item.path]
            self.coverage.note(ran, [item.nodeid])
            self.coverage.note(prepared, of_file)
        self.coverage.leave_out(self.failed)

    def _ask_without_a_change(self, items: dict[str, pytest.Item]) -> None:
        """Leave out tests that fail in a child, whatever is changed."""
        for file in sorted({item.path for item in items.values()}):
            asked = [i for t, i in items.items() if i.path == file and t in self.coverage.seconds]
            if not asked:
                continue
            limit = SLACK + 4 * self.coverage.time_of([item.nodeid for item in asked])
            if judge(lambda at: _passes(([], None), asked, at), limit) == SURVIVED:  # noqa: B023
                continue
            for item in asked:
                if judge(lambda at: _passes(([], None), [item], at), limit) != SURVIVED:  # noqa: B023
                    self.failed.append(item.nodeid)
        self.coverage.leave_out(self.failed)


def _run(item: pytest.Item, following: pytest.Item | None) -> bool:
    setup = _prepared(item)
    return _run_prepared(item, following, setup.passed) and not setup.failed


def _prepared(item: pytest.Item) -> pytest.TestReport:
    item._initrequest()  # type: ignore[attr-defined]  # fixtures are made anew, in every run
    return call_and_report(item, "setup", log=False)


def _run_prepared(item: pytest.Item, following: pytest.Item | None, is_ready: bool) -> bool:
    call = [call_and_report(item, "call", log=False)] if is_ready else []
    reports = [*call, call_and_report(item, "teardown", log=False, nextitem=following)]
    return not any(report.failed for report in reports)


def _passes(change: Change, items: list[pytest.Item], folder: Path) -> bool:
    for function in change[0]:
        function.__code__ = change[1]
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
    # Names of tests begin there; pytest would look for a place above all that it is given.
    arguments = [*ARGUMENTS, f"--rootdir={package.root}"]
    status = pytest.main([*arguments, *package.test_files()], plugins=[plugin])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit(f"pytest ended with {status}")
    return plugin


def judge_at_import(mutant: Mutant, coverage: Coverage, root: Path = ROOT) -> tuple[str, int]:
    """Judge a mutant of what runs when its module is imported; return also how many tests ran."""
    tests = coverage.of(mutant)
    limit = 60 + 4 * coverage.time_of(tests)
    changed = (mutant.file, mutant.source)
    return run_alone(tests, changed, seconds=limit, root=root), len(tests)


def run_alone(
    tests: list[str],
    changed: tuple[str, str] | None = None,
    *,
    seconds: float,
    root: Path = ROOT,
) -> str:
    """Run tests in a child that imports the library anew, with the changed source of a file."""

    def run(folder: Path) -> bool:
        _quick_hypothesis()
        if changed is not None:
            import_changed(*changed)
        os.chdir(root)
        places = (f"--rootdir={root}", f"--basetemp={folder / 'tmp'}")
        return pytest.main([*ARGUMENTS, "-x", *places, *tests]) == 0

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
