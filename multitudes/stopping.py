"""Signals that stop the process: turned into KeyboardInterrupt, at a good moment.

Python raises KeyboardInterrupt between any two steps, also in a ``finally`` that cleans up. With
the handlers of `install`, which the command line has, SIGINT, SIGTERM and SIGHUP wait while the
body of `shielded` puts files into place or removes them, and a training that can save itself is
asked first. Whoever keeps Python's own handler loses nothing either, but the next run has to remove
what is left.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Stop(KeyboardInterrupt):
    """A signal has come.

    Not KeyboardInterrupt itself: where that passes through ``exec``, by which dataclasses are made,
    Python ends by SIGINT in the end, whatever became of it.
    """


Listener = Callable[[int, FrameType | None], None]

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_SENT_TWICE = 3.0  # seconds in which a second signal adds nothing: some programs send two

_depth = 0
_received: int | None = None
_raised_at: float | None = None
_waiting = False
_listeners: list[Listener] = []
_installed = False


def install() -> None:
    """Handle the signals that stop a process, unless it was told to ignore them (``nohup``)."""
    global _depth, _received, _raised_at, _waiting, _installed
    _depth, _received, _raised_at, _waiting = 0, None, None, False
    _listeners.clear()
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)
    sys.unraisablehook = _not_lost
    _installed = True


def let_go() -> None:
    """From now on signals end the process at once: there is nothing left to do."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _handle:
            signal.signal(number, signal.SIG_DFL)


def exit_code() -> int:
    """Return the exit code of a process that was stopped, by convention."""
    return 128 + (signal.SIGINT if _received is None else _received)


def name() -> str | None:
    """Return the name of the signal, if it was not Ctrl-C."""
    if _received in (None, signal.SIGINT):
        return None
    return signal.Signals(_received).name


def was_stopped() -> bool:
    """Return whether a signal has come."""
    return _received is not None


def sentence() -> str:
    """Return what to tell a person."""
    how = "interrupted" if name() is None else f"stopped by {name()}"
    return f"{how}: nothing was left half-written"


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a listener have the signals: what it does not raise is over.

    Without `install` it has SIGINT alone, and nothing if Python's own handler was replaced.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or not (_installed or usual):
        yield
        return
    _listeners.append(listener)
    if not _installed:
        signal.signal(signal.SIGINT, listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
        if not _installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def shielded() -> Iterator[None]:
    """Let signals wait while the body runs."""
    with _deeper(1):
        yield


@contextmanager
def exposed() -> Iterator[None]:
    """Let signals in again, for the long part inside of what is shielded."""
    with _deeper(-1):
        yield


@contextmanager
def _deeper(by: int) -> Iterator[None]:
    global _depth
    if threading.current_thread() is not threading.main_thread():  # which has all the signals
        yield
        return
    _depth += by
    try:
        _stop_if_due()
        yield
    finally:
        _depth -= by
        _stop_if_due()


def _handle(number: int, frame: FrameType | None) -> None:
    global _received, _raised_at, _waiting
    if _raised_at is not None:
        if time.monotonic() - _raised_at > _SENT_TWICE:
            os._exit(128 + number)  # whoever stops us twice will not wait
        return
    _received = number
    if _listeners:
        try:
            _listeners[-1](number, frame)
            return
        except KeyboardInterrupt:
            pass
    if _depth > 0:
        _waiting = True
    else:
        _raised_at = time.monotonic()
        raise Stop


def _stop_if_due() -> None:
    global _raised_at, _waiting
    if _depth <= 0 and _waiting:
        _waiting = False
        _raised_at = time.monotonic()
        raise Stop


def _not_lost(unraisable: Any) -> None:
    """Send a signal again whose exception Python had to drop, e.g. in a ``__del__``."""
    global _raised_at
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    _raised_at = None
    timer = threading.Timer(0.01, os.kill, (os.getpid(), _received or signal.SIGINT))
    timer.daemon = True
    timer.start()
