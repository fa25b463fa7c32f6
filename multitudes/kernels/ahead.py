"""Compile kernels that will soon be needed in a second process, while this one works.

numba compiles one function at a time, whatever the number of threads, so only another process can
help. It compiles by rehearsing: it runs a *stage* of the real work on a handful of values, and
leaves the machine code in numba's cache on disk, where this process finds it. A stage is claimed
by making a folder, which only one of the two can do; whoever needs a stage that the other has
claimed compiles those after it that are free, and waits. If the helper fails, is killed, or
has no place to write to, this process compiles for itself, as it would have done without.

``MULTITUDES_COMPILE_AHEAD=off`` turns it off.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba

from multitudes.kernels.threads import available_cores

# Stages of a label tree's life, in the order of their use.
STAGES = CLUSTERING, SOLVER, INDEX, SEARCH = "clustering", "solver", "index", "search"

VARIABLE = "MULTITUDES_COMPILE_AHEAD"
LOOK_EVERY = 0.01  # seconds
PATIENCE = 60.0  # seconds after which this process compiles a stage that the helper had claimed


Rehearsal = Callable[[], object]


class Helper:
    """The second process, as the first one sees it."""

    def __init__(
        self, process: subprocess.Popen[bytes], folder: Path, stages: Mapping[str, Rehearsal]
    ) -> None:
        self.process, self.folder, self.rehearsals = process, folder, stages
        self.open = set(stages)  # those of which nobody here knows yet who compiles them
        self.owner = os.getpid()  # a forked child has neither the helper nor its threads
        self.lock = threading.RLock()  # a rehearsal needs stages, too

    def settle(self, stage: str) -> None:
        """Claim a stage for this process, or wait until the helper is done with it."""
        with self.lock:
            if stage not in self.open:
                return
            self.open.discard(stage)
            if not _claimed(self.folder, stage):
                done = self.folder / f"{stage}.done"
                for later in STAGES[STAGES.index(stage) + 1 :]:
                    self._work_ahead(later, done)
                self._wait(done)
            if self.process.poll() is not None:
                shutil.rmtree(self.folder, ignore_errors=True)  # it was killed
                self.open.clear()

    def _work_ahead(self, stage: str, done: Path) -> None:
        """Compile a stage that is still free, unless there is nothing to wait for."""
        if done.exists() or not self.folder.exists():
            return
        if stage in self.open and _claimed(self.folder, stage):
            self.open.discard(stage)
            with suppress(Exception):  # the real work will say what is wrong
                self.rehearsals[stage]()

    def _wait(self, done: Path) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            if done.exists() or not self.folder.exists():
                return
            time.sleep(LOOK_EVERY)


_helper: Helper | None = None
_lock = threading.Lock()
_asked_in: int | None = None  # the process in which `start` was called


def start(module: str, stages: Mapping[str, tuple[Any, Rehearsal]]) -> None:
    """Start the helper, once in a process, if kernels are missing in the cache.

    Parameters
    ----------
    module : str
        What the helper runs: a module whose main program calls `rehearse`.
    stages : mapping of name to (kernel, rehearsal)
        In the order in which they are to be compiled; the last kernel of each that is compiled,
        and what compiles it.
    """
    global _helper, _asked_in
    with _lock:
        if _asked_in == os.getpid():
            return
        _asked_in = os.getpid()
        if _may_start():
            missing = {
                name: rehearsal
                for name, (kernel, rehearsal) in stages.items()
                if not is_cached(kernel)
            }
            _helper = _started(module, missing) if missing else None


def need(stage: str) -> None:
    """Say that the kernels of a stage are needed now; waits if the helper is compiling them."""
    helper = _helper
    if helper is not None and helper.open and helper.owner == os.getpid():
        helper.settle(stage)


def rehearse(folder: Path, stages: Mapping[str, Rehearsal]) -> None:
    """Be the helper: run the stages that the other process has not claimed, one by one."""
    try:
        for name, run in stages.items():
            if not folder.exists():
                return
            if _claimed(folder, name):
                run()
                (folder / f"{name}.done").touch()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_cached(kernel: Any) -> bool:
    """Whether numba has compiled a kernel on this machine since its source was last changed."""
    stats = getattr(kernel, "stats", None)
    if stats is None or not stats.cache_path:
        return True  # it is not compiled, or never stored: there is nothing to do ahead
    code = kernel.py_func.__code__
    try:
        changed = Path(code.co_filename).stat().st_mtime
        stored = Path(stats.cache_path).glob(f"*{code.co_name}-{code.co_firstlineno}.*.nbi")
        return any(index.stat().st_mtime >= changed for index in stored)
    except OSError:
        return True


def _claimed(folder: Path, stage: str) -> bool:
    """Try to claim a stage; False if the other process has it."""
    try:
        (folder / stage).mkdir()
    except FileExistsError:
        return False
    except OSError:  # the folder is gone, and the helper with it
        return True
    return True


def _may_start() -> bool:
    """Whether a second process can help here, and may be started."""
    wanted = os.environ.get(VARIABLE, "").strip().lower() not in ("0", "off", "no", "false")
    is_python = bool(sys.executable) and not getattr(sys, "frozen", False)
    is_first = multiprocessing.parent_process() is None  # workers would start one each
    return wanted and is_python and is_first and available_cores() > 1


def _started(module: str, stages: Mapping[str, Rehearsal]) -> Helper | None:
    environment = {
        **os.environ,
        VARIABLE: "off",
        "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1",  # of messages that nobody reads
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    if numba.config.CACHE_DIR:
        environment["NUMBA_CACHE_DIR"] = str(numba.config.CACHE_DIR)
    nowhere = subprocess.DEVNULL
    with suppress(OSError):
        folder = Path(tempfile.mkdtemp(prefix="multitudes-compiling-"))
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", module, str(folder), *stages],
                stdin=nowhere,
                stdout=nowhere,
                stderr=nowhere,
                env=environment,
                **_apart(),
            )
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return Helper(process, folder, stages)
    return None


def _apart() -> dict[str, Any]:
    """How the helper is started so that Ctrl-C is not for it, and no window opens."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}
