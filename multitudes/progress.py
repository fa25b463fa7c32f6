"""Progress of long work, shown when somebody asked to see it.

Library code reports with `track`; nothing is printed unless a caller opened `shown()`::

    with shown():
        model.fit(X, Y)

On a terminal that is a bar with rate and time left; elsewhere a plain line every few seconds.
Everything goes to stderr, and work that ends within two seconds shows nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

SECONDS_BEFORE_SHOWING = 2.0
SECONDS_BETWEEN_LINES = 5.0


class Task(Protocol):
    """One piece of work under way."""

    def advance(self, amount: float = 1.0) -> None:
        """Say that `amount` more units are done."""

    def note(self, text: str) -> None:
        """Show a few words beside the progress, e.g. the loss; they replace earlier ones."""


class Reporter(Protocol):
    """Where progress goes."""

    def start(self, description: str, total: float | None, unit: str) -> Task:
        """A new piece of work; `total` may be unknown."""

    def end(self, task: Task) -> None:
        """The work is over, finished or not."""


_reporter: ContextVar[Reporter | None] = ContextVar("reporter", default=None)


class _SilentTask:
    def advance(self, amount: float = 1.0) -> None:
        pass

    def note(self, text: str) -> None:
        pass


@contextmanager
def track(description: str, total: float | None = None, unit: str = "") -> Iterator[Task]:
    """Report on a piece of work; silent unless a caller opened `shown()`."""
    reporter = _reporter.get()
    if reporter is None:
        yield _SilentTask()
        return
    task = reporter.start(description, total, unit)
    try:
        yield task
    finally:
        reporter.end(task)


@contextmanager
def shown(enabled: bool = True) -> Iterator[None]:
    """Show the progress of everything inside, on stderr; an outer `shown` stays in charge."""
    if not enabled or _reporter.get() is not None:
        yield
        return
    reporter: Reporter = _RichReporter() if sys.stderr.isatty() else _LineReporter()
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)
        if isinstance(reporter, _RichReporter):
            reporter.close()


class _LineTask:
    """Prints a plain line now and then: for logs, pipes and CI."""

    def __init__(self, description: str, total: float | None, unit: str) -> None:
        self.description, self.total, self.unit = description, total, unit
        self.done = 0.0
        self.started = time.monotonic()
        self.next_line = self.started + SECONDS_BEFORE_SHOWING
        self.printed = False
        self.words = ""

    def note(self, text: str) -> None:
        self.words = text

    def advance(self, amount: float = 1.0) -> None:
        self.done += amount
        if time.monotonic() >= self.next_line:
            self.print_line()
            self.next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    def print_line(self) -> None:
        seconds = max(time.monotonic() - self.started, 1e-9)
        rate = self.done / seconds
        parts = [f"{self.description}: {self.done:,.0f}"]
        if self.total:
            parts = [
                f"{self.description}: {100 * self.done / self.total:.0f}% of {self.total:,.0f}"
            ]
        words = f" {self.words}" if self.words else ""
        left = f", {(self.total - self.done) / rate:.0f} s left" if self.total and rate else ""
        sys.stderr.write(f"{' '.join(parts)} {self.unit} ({rate:,.0f}/s{left}){words}\n")
        sys.stderr.flush()
        self.printed = True


class _LineReporter:
    def start(self, description: str, total: float | None, unit: str) -> Task:
        return _LineTask(description, total, unit)

    def end(self, task: Task) -> None:
        if isinstance(task, _LineTask) and task.printed:
            seconds = time.monotonic() - task.started
            sys.stderr.write(f"{task.description}: done in {seconds:.1f} s\n")
            sys.stderr.flush()


class _RichTask:
    def __init__(self, reporter: _RichReporter, total: float | None, label: str) -> None:
        self.reporter, self.total, self.label = reporter, total, label
        self.done = 0.0
        self.started = time.monotonic()
        self.bar: int | None = None
        self.words = ""

    def note(self, text: str) -> None:
        self.words = text

    def advance(self, amount: float = 1.0) -> None:
        self.done += amount
        if self.bar is None and time.monotonic() - self.started >= SECONDS_BEFORE_SHOWING:
            self.bar = self.reporter.add_bar(self)
        if self.bar is not None:
            self.reporter.update_bar(self.bar, self.done, self.words)


class _RichReporter:
    """Bars on a terminal; the display opens when the first slow task earns one."""

    def __init__(self) -> None:
        self._progress: object | None = None

    def start(self, description: str, total: float | None, unit: str) -> Task:
        return _RichTask(self, total, f"{description} ({unit})" if unit else description)

    def add_bar(self, task: _RichTask) -> int:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        if self._progress is None:
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[words]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._progress.start()
        assert isinstance(self._progress, Progress)
        bar = self._progress.add_task(task.label, total=task.total, rate="", words="")
        self._started = {**getattr(self, "_started", {}), bar: task.started}
        return int(bar)

    def update_bar(self, bar: int, done: float, words: str) -> None:
        from rich.progress import Progress, TaskID

        assert isinstance(self._progress, Progress)
        rate = done / max(time.monotonic() - self._started[bar], 1e-9)
        self._progress.update(TaskID(bar), completed=done, rate=f"{rate:,.0f}/s", words=words)

    def end(self, task: Task) -> None:
        from rich.progress import Progress, TaskID

        if isinstance(task, _RichTask) and task.bar is not None:
            assert isinstance(self._progress, Progress)
            self._progress.remove_task(TaskID(task.bar))

    def close(self) -> None:
        from rich.progress import Progress

        if isinstance(self._progress, Progress):
            self._progress.stop()
