"""Ctrl-C at a safe moment: between two optimizer steps, not within one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """Whether Ctrl-C was pressed; pressed twice, it interrupts at once."""

    def __init__(self) -> None:
        self.requested = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Note the first signal; the second one raises."""
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


@contextmanager
def deferred_interrupt(*, enabled: bool) -> Iterator[Interrupt]:
    """Keep Ctrl-C waiting until somebody asks for it; only where there is something to save.

    Signals reach the main thread alone; elsewhere, and where another handler than Python's own is
    at work, nothing changes.
    """
    interrupt = Interrupt()
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not (enabled and usual and threading.current_thread() is threading.main_thread()):
        yield interrupt
        return
    signal.signal(signal.SIGINT, interrupt.handle)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
