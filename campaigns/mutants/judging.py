"""Judge a mutant in a forked child: the tests that run its line should fail."""

from __future__ import annotations

import gc
import math
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

KILLED, SURVIVED, TIMEOUT, UNTESTED = "killed", "survived", "timeout", "untested"
MEMORY = 4 << 30
"""What a child may take beyond what its parent has."""
WALL = 6
"""Times the CPU time that a mutant gets: it may wait for that long, on a busy machine."""


def judge(run: Callable[[Path], bool], seconds: float) -> str:
    """Return how a mutant ended; `run` gets a folder and says in the child if all tests passed."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        child = os.fork()
        if child == 0:
            _work(run, Path(folder), seconds)
        status = _wait(child, WALL * seconds)
        shutil.rmtree(folder, ignore_errors=True)
        Path(folder).mkdir(exist_ok=True)
    ended = None if status is None else os.waitstatus_to_exitcode(status)
    if ended is None or ended == -signal.SIGXCPU:
        return TIMEOUT
    return SURVIVED if ended == 0 else KILLED


def _work(run: Callable[[Path], bool], folder: Path, seconds: float) -> None:
    passed = False
    whole = math.ceil(seconds)
    try:
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nothing, stream)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 5))
        passed = run(folder)
    except BaseException:  # noqa: BLE001 - whatever ends the tests has noticed the change
        passed = False
    finally:
        gc.disable()
        os._exit(0 if passed else 1)


def _wait(child: int, seconds: float) -> int | None:
    """Return the child's status, or end its process group when the time is over."""
    until = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _end_group(child)
            return status
        if time.monotonic() > until:
            _end_group(child)
            os.waitpid(child, 0)
            return None
        time.sleep(0.01)


def _end_group(child: int) -> None:
    """End what the child has started, too."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return
    except PermissionError:
        print(f"could not end process group {child}", file=sys.stderr)
