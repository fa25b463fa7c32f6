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
from typing import Any

SECONDS_BEFORE_SHOWING = 2.0
SECONDS_BETWEEN_LINES = 5.0

_display: ContextVar[_Lines | _Bars | None] = ContextVar("display", default=None)


class Task:
    """One piece of work under way; `total` may be unknown."""

    def __init__(
        self, display: _Lines | _Bars | None, description: str, total: float | None, unit: str
    ) -> None:
        self.description, self.total, self.unit = description, total, unit
        self.done, self.words = 0.0, ""
        self.started = time.monotonic()
        self._display = display
        self._next_look = self.started + SECONDS_BEFORE_SHOWING

    def advance(self, amount: float = 1.0) -> None:
        """Report that `amount` more units are done."""
        self.done += amount
        if self._display is not None and time.monotonic() >= self._next_look:
            self._display.show(self)
            self._next_look = time.monotonic() + self._display.seconds_between()

    def note(self, text: str) -> None:
        """Show a few words beside the progress, e.g. the loss; they replace earlier ones."""
        self.words = text

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return max(time.monotonic() - self.started, 1e-9)


@contextmanager
def track(description: str, total: float | None = None, unit: str = "") -> Iterator[Task]:
    """Report on a piece of work; silent unless a caller opened `shown()`."""
    display = _display.get()
    task = Task(display, description, total, unit)
    try:
        yield task
    finally:
        if display is not None:
            display.end(task)


@contextmanager
def shown(enabled: bool = True) -> Iterator[None]:
    """Show the progress of everything inside, on stderr; an outer `shown` stays in charge."""
    if not enabled or _display.get() is not None:
        yield
        return
    display = _Bars() if sys.stderr.isatty() else _Lines()
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)
        display.close()


class _Lines:
    """Prints a plain line now and then: for logs, pipes and CI."""

    def __init__(self) -> None:
        self._printed: set[Task] = set()

    def seconds_between(self) -> float:
        return SECONDS_BETWEEN_LINES

    def show(self, task: Task) -> None:
        rate = task.done / task.seconds
        done, left = f"{task.done:,.0f}", ""
        if task.total:
            done = f"{100 * task.done / task.total:.0f}% of {task.total:,.0f}"
            left = f", {(task.total - task.done) / rate:.0f} s left" if rate else ""
        words = f" {task.words}" if task.words else ""
        line = f"{task.description}: {done} {task.unit} ({rate:,.0f}/s{left}){words}"
        print(line, file=sys.stderr, flush=True)  # noqa: T201
        self._printed.add(task)

    def end(self, task: Task) -> None:
        if task in self._printed:
            line = f"{task.description}: done in {task.seconds:.1f} s"
            print(line, file=sys.stderr, flush=True)  # noqa: T201

    def close(self) -> None:
        pass


class _Bars:
    """Bars on a terminal; the display opens when the first slow task earns one."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._bars: dict[Task, Any] = {}

    def seconds_between(self) -> float:
        return 0.0

    def show(self, task: Task) -> None:
        if self._progress is None:
            self._progress = self._opened()
        if task not in self._bars:
            label = f"{task.description} ({task.unit})" if task.unit else task.description
            self._bars[task] = self._progress.add_task(label, total=task.total, rate="", words="")
        rate = f"{task.done / task.seconds:,.0f}/s"
        self._progress.update(self._bars[task], completed=task.done, rate=rate, words=task.words)

    def end(self, task: Task) -> None:
        if task in self._bars:
            self._progress.remove_task(self._bars.pop(task))

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _opened(self) -> Any:
        from rich import progress  # slow to import
        from rich.console import Console

        opened = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[rate]}"),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[words]}"),
            console=Console(stderr=True),
            transient=True,
        )
        opened.start()
        return opened
