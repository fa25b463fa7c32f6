"""Servers in processes of their own: ours, started and looked at."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from benchmarks.machine import ROOT


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def megabytes(self) -> float:
        """Memory of all its processes, files aside; what several share is counted once."""
        return sum(_proportional(pid) for pid in family(self.process.pid)) / 1024

    def cpu_seconds(self) -> float:
        """Time that all its processes have computed."""
        ticks = 0
        for pid in family(self.process.pid):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += int(fields[11]) + int(fields[12])
        return ticks / 100


@contextmanager
def serving(model: Path, *options: str) -> Iterator[Running]:
    """Serve a model with ``multitudes serve``; gives the server when it answers."""
    command = [sys.executable, "-m", "multitudes", "serve", str(model), "--port", "0", "--log",
               "none", *options]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stderr is not None
        found = None
        for line in process.stderr:
            found = re.search(r"http://[\d.]+:\d+", line)
            if found is not None:
                break
        if found is None:
            raise SystemExit("the server did not start")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield Running(process, found[0])
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)


def wait_for(url: str, seconds: float = 120) -> None:
    """Wait until an address answers, whatever it says."""
    until = time.monotonic() + seconds
    while True:
        try:
            urlopen(url, timeout=30).close()
        except HTTPError:
            return
        except OSError:  # refused, or nobody answers yet
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return


def family(pid: int) -> list[int]:
    """A process and those it has started."""
    try:
        started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in started for one in family(int(child)))]


def _proportional(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return float(next(line.split()[1] for line in lines if line.startswith("Pss_Anon:")))
