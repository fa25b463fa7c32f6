"""Which test runs which line of a package, and how long it takes."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from campaigns.mutants.mutant import Mutant
from campaigns.mutants.packages import ROOT

MOST_SECONDS = 25.0
"""Of the tests that run a line, the quickest ones are asked, up to this time together."""


@dataclass
class Coverage:
    """Seconds of each test, and the tests of each line."""

    seconds: dict[str, float] = field(default_factory=dict)
    tests: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    def note(self, lines: set[tuple[str, int]], tests: list[str]) -> None:
        """Note that tests run lines of files."""
        for file, line in lines:
            self.tests.setdefault(file, {}).setdefault(line, []).extend(tests)

    def leave_out(self, tests: list[str]) -> None:
        """Forget tests that fail without a change."""
        for test in tests:
            self.seconds.pop(test, None)

    def of(self, mutant: Mutant) -> list[str]:
        """The tests to ask about a mutant, file by file.

        A line that runs at import is answered for by all tests that run anything of its file.
        """
        lines = self.tests.get(mutant.file, {})
        first, last = mutant.statement
        found = {
            test
            for line, tests in lines.items()
            if not mutant.in_body or first <= line <= last
            for test in tests
            if test in self.seconds
        }
        if not found and not mutant.in_body:
            found = set(self.seconds)
        return self._affordable(found)

    def _affordable(self, found: set[str]) -> list[str]:
        chosen, total = [], 0.0
        for test in sorted(found, key=lambda test: (self.seconds[test], test)):
            total += self.seconds[test]
            if chosen and total > MOST_SECONDS:
                break
            chosen.append(test)
        of_file: dict[str, float] = defaultdict(float)
        for test in chosen:
            of_file[test.split("::")[0]] += self.seconds[test]
        order = {test: i for i, test in enumerate(self.seconds)}
        return sorted(
            chosen,
            key=lambda test: (of_file[test.split("::")[0]], test.split("::")[0], order[test]),
        )

    def time_of(self, tests: list[str]) -> float:
        """Seconds that tests take together."""
        return sum(self.seconds[test] for test in tests)


class Tracer:
    """Notes the lines of some files that run."""

    def __init__(self, files: list[str]) -> None:
        self.files = {str(ROOT / file): file for file in files}
        self.lines: set[tuple[str, int]] = set()

    def during(self, action: Callable[[], Any]) -> tuple[Any, set[tuple[str, int]]]:
        """Return what an action returns, and the lines it ran."""
        self.lines = set()
        threading.settrace(self._call)
        sys.settrace(self._call)
        try:
            return action(), self.lines
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def _call(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._line if frame.f_code.co_filename in self.files else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.lines.add((self.files[frame.f_code.co_filename], frame.f_lineno))
        return self._line
