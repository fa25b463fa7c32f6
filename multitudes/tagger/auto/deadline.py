"""Budgets and deadlines: how much time there is, and an end to what takes longer."""

from __future__ import annotations

import ctypes
import math
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import Any, TypeAlias

from multitudes.errors import ConfigError

Budget: TypeAlias = str | float | timedelta
"""A time to train in: "90s", "10m", "1h30m", a number of seconds, or a timedelta."""

_UNITS = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\s*")
_LONGEST = 366 * 86400.0  # clocks of the system end somewhere
_AGAIN = 5.0  # seconds after which an alarm rings again: one that rings in a `__del__` is lost


class TimeIsUp(BaseException):
    """The deadline has passed; like KeyboardInterrupt, no handler of errors should catch it."""


def seconds_of(budget: Budget) -> float:
    """Return a budget in seconds.

    Examples
    --------
    >>> seconds_of("1h30m"), seconds_of(90)
    (5400.0, 90.0)
    """
    if isinstance(budget, timedelta):
        found: float | None = budget.total_seconds()
    elif isinstance(budget, str):
        found = _spelled(budget)
    else:
        is_number = isinstance(budget, (int, float)) and not isinstance(budget, bool)
        found = float(budget) if is_number else None
    if found is None or not math.isfinite(found) or not 0 < found <= _LONGEST:
        raise ConfigError(
            f"a budget is a time to train in, such as 90s, 10m, 1h30m, or a number of seconds, "
            f"got {budget!r}"
        )
    return found


def _spelled(text: str) -> float | None:
    seconds, at, text = 0.0, 0, text.strip().lower()
    while at < len(text):
        part = _PART.match(text, at)
        if part is None or (part[2] or "s") not in _UNITS or (at and not part[2]):
            return None
        seconds += float(part[1]) * _UNITS[part[2] or "s"]
        at = part.end()
    return seconds if text else None


def check_for_budget(model: Any) -> None:
    """Refuse a budget for a model that was chosen already."""
    if model != "auto":
        name = model if isinstance(model, str) else type(model).__name__
        raise ConfigError(
            f"a budget is for the model 'auto', which chooses what fits into it, and {name} was "
            "asked for: leave out one of the two"
        )


class Deadline:
    """The time that is left of a budget.

    Parameters
    ----------
    seconds : float
    clock : function, optional
        Returns seconds from any start; for tests, one that nobody has to wait for.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._started = clock()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._started

    @property
    def left(self) -> float:
        """Seconds until the deadline; negative after it."""
        return self.seconds - self.elapsed

    @contextmanager
    def enforced(self, *, reserve: float = 0.0, at_most: float = math.inf) -> Iterator[None]:
        """Raise `TimeIsUp` inside when all but a reserve is used up, or `at_most` seconds are.

        In the main thread of a process that has alarms to spare; elsewhere (in other threads, on
        Windows) the exception comes when what runs just then, e.g. a kernel, is back in Python.
        """
        with _alarm(max(min(self.left - reserve, at_most), 0.001)):
            yield
        if self.left < 0:
            raise TimeIsUp


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    in_main = threading.current_thread() is threading.main_thread()
    free = hasattr(signal, "SIGALRM") and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    if not in_main or not free:
        with _sent(seconds):
            yield
        return
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


@contextmanager
def _sent(seconds: float) -> Iterator[None]:
    """Send the exception to this thread, from another one."""
    thread = ctypes.c_ulong(threading.get_ident())
    lock, over = threading.Lock(), False

    def stop() -> None:
        with lock:
            if not over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TimeIsUp))

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            over = True
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)  # one that has not come yet
        timer.cancel()


def _ring(number: int, frame: FrameType | None) -> Any:
    raise TimeIsUp
