"""Commands in forked children, which start in a moment, or in new processes, as users run them."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from multitudes.files.disk import Disk, on

SIGNALS = {
    "kill": signal.SIGKILL,
    "term": signal.SIGTERM,
    "int": signal.SIGINT,
    "hup": signal.SIGHUP,
}


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, negative for a signal, and what it said on stderr."""

    code: int
    said: str


@dataclass(frozen=True)
class Disturbance:
    """What happens to a command besides what its disk does.

    Parameters
    ----------
    signal_number, after
        A signal that is sent after this many seconds.
    limits
        What `resource.setrlimit` is given: resource and bytes, or files.
    """

    signal_number: int | None = None
    after: float = 0.0
    limits: dict[int, int] = field(default_factory=dict)


def forked(
    arguments: Sequence[str],
    place: Path,
    disk: Disk | None = None,
    how: Disturbance = Disturbance(),
) -> Ended:
    """Run a command in a child of this process, which has imported and compiled everything."""
    said = place.with_name(f"{place.name}.stderr")
    pid = os.fork()
    if pid == 0:
        _child(arguments, place, said, disk, how)
    return Ended(_disturbed(pid, how), said.read_text(errors="replace"))


def _child(
    arguments: Sequence[str], place: Path, said: Path, disk: Disk | None, how: Disturbance
) -> None:
    code = 70
    try:
        os.chdir(place)
        error = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, handle in ((0, nothing), (1, nothing), (2, error)):
            os.dup2(handle, number)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        for number in SIGNALS.values():
            if number != signal.SIGKILL:
                signal.signal(number, signal.SIG_DFL)
        for kind, most in how.limits.items():
            _limit(kind, most)
        code = _main(arguments, disk)
    except BaseException:  # noqa: BLE001 - it ends here whatever it was
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _main(arguments: Sequence[str], disk: Disk | None) -> int:
    from multitudes.cli import main

    try:
        with on(Disk() if disk is None else disk):
            main(list(arguments))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _limit(kind: int, most: int) -> None:
    if kind == resource.RLIMIT_AS:  # beyond what this process has already
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most += pages * resource.getpagesize()
    if kind == resource.RLIMIT_NOFILE:
        free = os.dup(0)  # the lowest number that is not in use
        os.close(free)
        most += free
    if kind == resource.RLIMIT_FSIZE:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as Python does at its start
    resource.setrlimit(kind, (most, most))


def _disturbed(pid: int, how: Disturbance) -> int:
    """Send the signal in its time, and wait for the end."""
    if how.signal_number is not None:
        time.sleep(how.after)
        os.kill(pid, how.signal_number)  # not waited for yet, so the id is still its own
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def started(arguments: Sequence[str], place: Path, how: Disturbance = Disturbance()) -> Ended:
    """Run a command as users do, in a new process."""
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [sys.executable, "-m", "multitudes", *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        if how.signal_number is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(how.after)
            if process.returncode is None:
                process.send_signal(how.signal_number)
        _, said = process.communicate()
    return Ended(process.returncode, said)
