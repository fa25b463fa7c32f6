"""The process of a command: it starts and ends without work that nobody needs."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading

# New objects, less those that are gone, before Python looks for cycles the first time. Importing
# makes 240,000 that stay: with Python's 700 it looks at all of them again and again, for a tenth of
# a short command's time.
OBJECTS_OF_A_START = 300_000


def collect_later() -> None:
    """Keep the garbage collector away while a command starts; from then on it is as it was."""
    usual = gc.get_threshold()

    def set_back(phase: str, info: dict[str, int]) -> None:
        gc.set_threshold(*usual)
        gc.callbacks.remove(set_back)

    gc.set_threshold(OBJECTS_OF_A_START, *usual[1:])
    gc.callbacks.append(set_back)


def leave(code: object) -> None:
    """End the process, without freeing one by one what the system frees at once.

    With LLVM's that took a fifth of a short command's time. What asked to be called at the end is
    called. Returns, for Python to end as usual, if that has more to do: a message to print, output
    that cannot be written, threads that still run, or a profiler that waits for the end.
    """
    watched = sys.getprofile() is not None or sys.gettrace() is not None
    if not isinstance(code, int | None) or threading.active_count() > 1 or watched:
        return
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # closed, full, or not there
        return
    os._exit(code or 0)
