"""Time contestants fairly: each in a process of its own, run in turns.

A contestant is a snippet of Python that defines ``run()``, the work to be timed, and ``check(x)``,
which makes of its result something that all contestants must agree on. Its process stays alive
between rounds, so that importing and compiling are paid once, in a warm-up that is not counted.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.peers import PeerError
from benchmarks.report import Rounds

_LOOP = """
import json, sys, time
order = json.loads(sys.stdin.readline())
answers, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints is not an answer
scope = dict(order["arguments"])
exec(order["code"], scope)
for line in sys.stdin:
    start, cpu_start = time.perf_counter(), time.process_time()
    result = scope["run"]()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    answer = {"seconds": seconds, "cpu_seconds": cpu_seconds, "check": scope["check"](result)}
    answers.write(json.dumps(answer) + "\\n")
    answers.flush()
    del result
"""

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Contestant:
    """A snippet, the values it is given as globals, and the Python that runs it."""

    code: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    python: Path = Path(sys.executable)
    n_jobs: int | None = 1


@dataclass(frozen=True)
class Timing:
    """The seconds of each round, and what the contestant computed.

    CPU seconds, of all threads, hardly suffer from what else the machine does.
    """

    seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]
    check: Any

    @property
    def median(self) -> float:
        """The middle of the rounds."""
        return statistics.median(self.seconds)

    @property
    def measures(self) -> dict[str, Any]:
        """Both as a record has them."""
        return {"seconds": Rounds(self.seconds), "cpu_seconds": Rounds(self.cpu_seconds)}


def alternate(contestants: Mapping[str, Contestant], *, rounds: int = 5) -> dict[str, Timing]:
    """Run all contestants in turns, after a warm-up round; their checks must agree."""
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in contestants}
    with ExitStack() as stack:
        running = {
            name: stack.enter_context(_started(name, one)) for name, one in contestants.items()
        }
        for _ in range(rounds + 1):
            for name, process in running.items():
                answers[name].append(_ask(name, process))
    timings = {name: _timing(turns[1:]) for name, turns in answers.items()}
    _check_agreement(timings)
    return timings


def _timing(turns: list[dict[str, Any]]) -> Timing:
    return Timing(
        seconds=tuple(answer["seconds"] for answer in turns),
        cpu_seconds=tuple(answer["cpu_seconds"] for answer in turns),
        check=turns[-1]["check"],
    )


def _check_agreement(timings: Mapping[str, Timing]) -> None:
    first, expected = next(iter(timings.items()))
    for name, timing in timings.items():
        if timing.check != expected.check:
            raise PeerError(f"{name} computed {timing.check}, but {first} {expected.check}")


def ratio(slow: Timing, fast: Timing) -> float:
    """How many times as long `slow` took: the median over rounds of neighboring runs."""
    return _median_ratio(slow.seconds, fast.seconds)


def cpu_ratio(slow: Timing, fast: Timing) -> float:
    """The same of CPU seconds: steadier than `ratio` on a busy machine."""
    return _median_ratio(slow.cpu_seconds, fast.cpu_seconds)


def _median_ratio(slow: Sequence[float], fast: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))


@contextmanager
def _started(name: str, contestant: Contestant) -> Iterator[subprocess.Popen[str]]:
    threads = contestant.n_jobs
    limits = {} if threads is None else {key: str(threads) for key in _ONE_THREAD}
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", **limits}
    with subprocess.Popen(
        [str(contestant.python), "-c", _LOOP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment,
    ) as process:
        order = {"code": contestant.code, "arguments": dict(contestant.arguments)}
        _tell(name, process, json.dumps(order))
        try:
            yield process
        finally:
            process.kill()


def _tell(name: str, process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    except BrokenPipeError as error:
        raise PeerError(f"{name} stopped; its error is above") from error


def _ask(name: str, process: subprocess.Popen[str]) -> dict[str, Any]:
    _tell(name, process, "go")
    assert process.stdout is not None
    answer = process.stdout.readline()
    if not answer:
        raise PeerError(f"{name} stopped; its error is above")
    loaded: dict[str, Any] = json.loads(answer)
    return loaded


def stopwatch(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock, and CPU seconds of all threads."""
    start, cpu_start = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu_start
