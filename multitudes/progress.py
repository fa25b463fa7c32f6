"""What long work says of itself while it runs, to a person who asked to see it.

Library code reports with `track` and `say`; nothing is printed unless a caller opened `shown()`::

    with shown():
        model.fit(X, Y)

On a terminal `track` is a bar with the time left, and a stage that is over leaves a line with its
seconds behind; elsewhere it is a plain line every few seconds. Everything goes to stderr.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

SECONDS_BEFORE_A_BAR = 0.5
SECONDS_BEFORE_A_LINE = 2.0
SECONDS_BETWEEN_LINES = 5.0
SECONDS_OF_FIRST_STEPS = 10.0
SHARE_OF_FIRST_STEPS = 0.05
SHARE_BETWEEN_LINES = 0.1  # of the time so far: hours of work leave a log that can be read
SECONDS_WORTH_A_TICK = 1.0  # a stage that was shorter leaves nothing behind
SECONDS_BETWEEN_LOOKS = 0.2

# What the command line has an option for; it takes other settings with --set.
OPTIONS = frozenset({"checkpoint", "device", "model", "validation"})

_display: ContextVar[_Lines | _Bars | None] = ContextVar("display", default=None)
_in_flags: ContextVar[bool] = ContextVar("in_flags", default=False)


class Task:
    """One piece of work under way; `total` may be unknown. Threads may report on it together."""

    def __init__(
        self, display: _Lines | _Bars | None, description: str, total: float | None, unit: str
    ) -> None:
        self.description, self.total, self.unit = description, total, unit
        self.done, self.done_before, self.words = 0.0, 0.0, ""
        self.started = time.monotonic()
        self._display = display
        self._lock = threading.Lock()

    def advance(self, amount: float = 1.0) -> None:
        """Report that `amount` more units are done."""
        with self._lock:
            self.done += amount
        if self._display is not None:
            self._display.look(self)

    def resume_at(self, done: float) -> None:
        """Report that so much was done earlier, which says nothing of the pace."""
        self.done = self.done_before = done

    def note(self, text: str) -> None:
        """Show a few words beside the progress, e.g. the loss; they replace earlier ones."""
        self.words = text

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return max(time.monotonic() - self.started, 1e-9)

    def amount(self) -> str:
        """How much is done, in words; without a unit it is a share."""
        if not self.total:
            return f"{self.done:,.0f} {self.unit}".rstrip()
        share = f"{100 * self.done / self.total:.0f}%"
        return f"{share} of {self.total:,.0f} {self.unit}" if self.unit else share

    def pace(self) -> list[str]:
        """Units per second, where that is a number to look at, and the time left.

        That is not told from the first steps, which are slow: they compile, load, fill caches.
        """
        done = self.done - self.done_before
        rate = done / self.seconds
        parts = [f"{rate:,.0f}/s"] if self.unit and rate >= 1 else []
        settled = self.seconds >= SECONDS_OF_FIRST_STEPS
        if self.total and rate and (settled or done >= SHARE_OF_FIRST_STEPS * self.total):
            parts.append(f"{duration(max(self.total - self.done, 0) / rate)} left")
        return parts


@contextmanager
def track(description: str, total: float | None = None, unit: str = "") -> Iterator[Task]:
    """Report on a piece of work; silent unless a caller opened `shown()`.

    Parameters
    ----------
    description : str
        What is being done: "reading train.jsonl".
    total : float, optional
        How much there is to do.
    unit : str
        What is counted, in words of the person who waits: texts, labels, MB. Leave it out if the
        amounts mean nothing to them: the share is shown.
    """
    display = _display.get()
    task = Task(display, description, total, unit)
    if display is None:
        yield task
        return
    display.begin(task)
    finished = False
    try:
        yield task
        finished = True
    finally:
        display.end(task, finished=finished)


@contextmanager
def shown(enabled: bool = True, *, in_flags: bool = False) -> Iterator[None]:
    """Show the progress of everything inside, on stderr; an outer `shown` stays in charge.

    Parameters
    ----------
    enabled : bool
    in_flags : bool
        Whether advice names settings as the command line takes them; see `spelled`.
    """
    if not enabled or _display.get() is not None:
        yield
        return
    display = _Bars() if sys.stderr.isatty() else _Lines()
    tokens = _display.set(display), _in_flags.set(in_flags)
    try:
        yield
    finally:
        _display.reset(tokens[0])
        _in_flags.reset(tokens[1])
        display.close()


@contextmanager
def hushed() -> Iterator[None]:
    """Show nothing of what is inside, e.g. of trainings that come again and again."""
    token = _display.set(None)
    try:
        yield
    finally:
        _display.reset(token)


def say(text: str, *, urgent: bool = False) -> None:
    """Tell whoever opened `shown()` something; `urgent` stands out."""
    display = _display.get()
    if display is not None:
        display.say(text, urgent=urgent)


def tell(text: str) -> None:
    """Say something that nobody should miss, such as a download, on stderr if nobody watches."""
    if is_shown():
        say(text)
    else:
        print(text, file=sys.stderr, flush=True)  # noqa: T201


def is_shown() -> bool:
    """Whether anybody sees what is said."""
    return _display.get() is not None


def speaks_in_flags() -> bool:
    """Whether the person who reads this wrote a command line."""
    return _in_flags.get()


def spelled(name: str, value: object) -> str:
    """Return a setting as the person writes it: ``--set training.epochs=5``, or in Python."""
    if not _in_flags.get():
        return f"{name}={value!r}"
    return f"--{name} {value}" if name in OPTIONS else f"--set {name}={value}"


def duration(seconds: float) -> str:
    """Return a time in words, about as exactly as people care for."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 10 and minutes else f"{round(seconds / 3600)} h"


class _Lines:
    """Prints a plain line now and then: for logs, pipes and CI."""

    def __init__(self) -> None:
        self._next_line: dict[Task, float] = {}
        self._printed: set[Task] = set()
        self._lock = threading.RLock()  # a handler of Ctrl-C may say something in between

    def begin(self, task: Task) -> None:
        with self._lock:
            self._next_line[task] = task.started + SECONDS_BEFORE_A_LINE

    def look(self, task: Task) -> None:
        with self._lock:
            now = time.monotonic()
            if now < self._next_line.get(task, now + 1):
                return
            wait = max(SECONDS_BETWEEN_LINES, SHARE_BETWEEN_LINES * (now - task.started))
            self._next_line[task] = now + wait
            self._printed.add(task)
            pace = ", ".join(task.pace())
            words = f" {task.words}" if task.words else ""
            self._print(f"{task.description}: {task.amount()}{pace and f' ({pace})'}{words}")

    def end(self, task: Task, *, finished: bool) -> None:
        with self._lock:
            self._next_line.pop(task, None)
            long = task in self._printed or task.seconds >= SECONDS_BEFORE_A_LINE
            self._printed.discard(task)
            if finished and long:
                self._print(f"{task.description}: done in {_seconds(task.seconds)}")

    def say(self, text: str, *, urgent: bool) -> None:
        with self._lock:
            self._print(text)

    def close(self) -> None:
        pass

    def _print(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)  # noqa: T201


class _Bars:
    """Bars on a terminal, drawn by a thread of their own for all work that takes a while.

    Work inside other work leaves no line behind: it may come again and again.
    """

    def __init__(self) -> None:
        self._open: list[Task] = []
        self._bars: dict[Task, Any] = {}
        self._inner: set[Task] = set()
        self._progress: Any = None
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="progress", daemon=True)
        self._watcher.start()

    def begin(self, task: Task) -> None:
        with self._lock:
            if self._open:
                self._inner.add(task)
            self._open.append(task)

    def look(self, task: Task) -> None:
        pass  # the thread looks by itself

    def end(self, task: Task, *, finished: bool) -> None:
        with self._lock:
            self._open.remove(task)
            is_inner = task in self._inner
            self._inner.discard(task)
            if task in self._bars:
                self._progress.remove_task(self._bars.pop(task))
            if not self._bars:
                self._stop()
            if finished and not is_inner and task.seconds >= SECONDS_WORTH_A_TICK:
                self._print(f"✓ {task.description}  {_seconds(task.seconds)}", "green")

    def say(self, text: str, *, urgent: bool) -> None:
        with self._lock:
            self._print(text, "yellow" if urgent else "dim")

    def close(self) -> None:
        self._closed.set()
        self._watcher.join()
        with self._lock:
            self._stop()

    def _watch(self) -> None:
        while not self._closed.wait(SECONDS_BETWEEN_LOOKS):
            with self._lock:
                for task in self._open:
                    if task.seconds >= SECONDS_BEFORE_A_BAR:
                        self._draw(task)

    def _draw(self, task: Task) -> None:
        if self._progress is None:
            self._progress = self._opened()
        if task not in self._bars:
            bar = self._progress.add_task(task.description, total=task.total, amount="", words="")
            self._bars[task] = bar
        amount = ", ".join([task.amount(), *task.pace()])
        self._progress.update(
            self._bars[task], completed=task.done, amount=amount, words=task.words
        )

    def _opened(self) -> Any:
        from rich import progress  # slow to import
        from rich.table import Column

        # Of a line that is too long the last words go, not the amount or the time left.
        what, rest = Column(no_wrap=True, max_width=30), Column(no_wrap=True, overflow="ellipsis")
        amount = "{task.fields[amount]}"
        opened = progress.Progress(
            progress.TextColumn("{task.description}", markup=False, table_column=what),
            progress.BarColumn(12),
            progress.TextColumn(amount, markup=False, table_column=Column(no_wrap=True)),
            progress.TextColumn(
                "{task.fields[words]}", style="dim", markup=False, table_column=rest
            ),
            console=_console(),
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # into the same terminal, not out of a pipe
        )
        opened.start()
        return opened

    def _stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
            self._bars.clear()

    def _print(self, text: str, style: str) -> None:
        from rich.text import Text

        console = _console() if self._progress is None else self._progress.console
        if not console.encoding.startswith("utf"):
            text = text.replace("✓", "done:")
        console.print(Text(text, style=style))


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else duration(seconds)


def _console() -> Any:
    """Return a console that leaves room for the ^C which a terminal writes behind a bar.

    Without it that would begin a new line, and the bar could not be removed any more.
    """
    from rich.console import Console, ConsoleDimensions

    class Narrow(Console):
        @property  # type: ignore[misc]
        def size(self) -> ConsoleDimensions:
            width, height = super().size
            return ConsoleDimensions(max(width - len("^C") - 1, 10), height)

    return Narrow(stderr=True)
