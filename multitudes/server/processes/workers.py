"""Several processes that answer, forked from one that holds the models and looks after them.

The parent reads the models into memory and tries them out, then forks: processes share all that the
models are made of, the search index too, which a file that each of them maps would not give them.
Nothing is mapped, so that files may be cut. A new version of a model is read by the parent, which
forks another generation of workers and has the one before it end when its requests are answered.
"""

from __future__ import annotations

import logging
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from multitudes.errors import ConfigError
from multitudes.server.models import Models
from multitudes.server.processes.folders import EVERY, Folders, take_up
from multitudes.server.processes.parent import Parent, lines_of, send_line
from multitudes.server.processes.releasing import release

FAILED = 70  # exit code of a worker that could not start
SOON = 1.0  # seconds after which a worker that ends has not failed to start
LONGEST_PAUSE = 30.0  # seconds before a worker that fails again and again is started again
LOOK_EVERY = 0.1
LAST_WORDS = 3.0  # seconds beyond the grace in which a worker ends itself
SENT_TWICE = 0.2  # seconds in which a second signal adds nothing: some programs send two
BACKLOG = 1024  # connections that the system keeps until they are accepted
PROMETHEUS = "PROMETHEUS_MULTIPROC_DIR"

Run = Callable[[socket.socket, Parent], bool]
Say = Callable[[int, str], object]


@dataclass(eq=False)
class Worker:
    """A process that answers."""

    pid: int
    control: socket.socket
    generation: int
    is_up: bool = False
    is_ending: bool = False
    has_closed: bool = False  # it takes no more connections
    received: bytes = b""
    begun: float = field(default_factory=time.monotonic)


class Workers:
    """The parent of the processes that answer.

    Parameters
    ----------
    models : Models
    listening : socket
        Bound to the address; each worker listens at it with a socket of its own if the system
        spreads connections over several, and else with this one.
    n : int
    run : function of a socket and a Parent
        What a worker does until it is told to end; returns whether it answered everything.
    say : function of a level and a message
        Writes a line of the log.
    watch : bool
        Look for new versions of the models.
    grace_seconds : float
        For workers to end in.
    """

    def __init__(
        self,
        models: Models,
        listening: socket.socket,
        *,
        n: int,
        run: Run,
        say: Say,
        watch: bool = False,
        grace_seconds: float = 8.0,
    ) -> None:
        check_forkable()
        self.models = models
        self.listening = listening
        self.n = n
        self.run_worker = run
        self.say = say
        self.grace_seconds = grace_seconds
        self.workers: list[Worker] = []
        self._generation = 0
        self._told = 0  # the signal to end
        self._told_at = 0.0
        self._pause = 0.0  # before a worker is started in place of one that failed
        self._not_before = 0.0
        self._asked: list[tuple[Worker, str]] = []  # who waits for the new generation, for which
        self._folders = Folders(models) if watch else None
        self._look_at = time.monotonic() + EVERY

    def run(self, ready: Callable[[], None]) -> None:
        """Answer until a signal comes; `ready` is called when all workers answer."""
        metrics = tempfile.mkdtemp(prefix="multitudes-metrics-")
        os.environ[PROMETHEUS] = metrics  # read when a worker imports prometheus-client
        handlers = {sig: signal.signal(sig, self._take_signal) for sig in _signals()}
        try:
            self._fill()
            is_ready = False
            while not self._told:
                self._turn()
                if not is_ready and all(worker.is_up for worker in self.workers):
                    is_ready = True
                    ready()
            self._end()
        finally:
            for worker in self.workers:  # only if something went wrong here
                _kill(worker.pid, signal.SIGKILL)
            for sig, handler in handlers.items():
                signal.signal(sig, handler)
            del os.environ[PROMETHEUS]
            shutil.rmtree(metrics, ignore_errors=True)

    def _turn(self) -> None:
        """Do what has to be done, and wait a moment."""
        controls = {worker.control: worker for worker in self.workers}
        readable, _, _ = select.select(list(controls), [], [], LOOK_EVERY)
        for control in readable:
            self._listen(controls[control])
        self._reap()
        if not self._told:
            self._fill()
            self._retire()
        if self._folders is not None and time.monotonic() >= self._look_at and not self._told:
            for name in self._folders.changed():
                if take_up(self.models, name, self.say):
                    self._generation += 1
                    release()
            self._look_at = time.monotonic() + EVERY

    def _fill(self) -> None:
        """Start the workers that are missing in this generation."""
        if time.monotonic() < self._not_before:
            return
        present = sum(worker.generation == self._generation for worker in self.workers)
        for _ in range(self.n - present):
            self.workers.append(self._start())

    def _retire(self) -> None:
        """Have earlier generations end once this one answers, and tell those who asked for it."""
        now = [worker for worker in self.workers if worker.generation == self._generation]
        if len(now) < self.n or not all(worker.is_up for worker in now):
            return
        before = [worker for worker in self.workers if worker.generation != self._generation]
        for worker in before:
            if not worker.is_ending:
                worker.is_ending = True
                _kill(worker.pid, signal.SIGTERM)
        if all(worker.has_closed for worker in before):
            for worker, name in self._asked:
                self._tell_about(worker, name)
            self._asked.clear()

    def _start(self) -> Worker:
        ours, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            theirs.close()
            return Worker(pid, ours, self._generation)
        code = FAILED
        try:
            ours.close()
            for worker in self.workers:
                worker.control.close()
            for sig in _signals():
                signal.signal(sig, signal.SIG_IGN)  # of a terminal all get it: the parent tells
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            code = self._work(Parent(theirs))
        finally:
            # Whatever comes: what the parent would do at its end is not this process's to do.
            os._exit(code)

    def _work(self, parent: Parent) -> int:
        try:
            listening = own_socket(self.listening)
            parent.start()
            self.models.elsewhere = parent.reload
            self.run_worker(listening, parent)
        except BaseException as error:  # noqa: BLE001  the process ends, and says why
            self.say(logging.ERROR, f"a worker failed: {type(error).__name__}: {error}")
            return FAILED
        return 0

    def _listen(self, worker: Worker) -> None:
        """Read what a worker says."""
        try:
            piece = worker.control.recv(65536)
        except OSError:
            piece = b""
        worker.received += piece
        for line in lines_of(worker.received):
            if "up" in line:
                worker.is_up = True
                self._pause = 0.0
            elif "closed" in line:
                worker.has_closed = True
            elif "reload" in line:
                self._reload(worker, line["reload"])
        worker.received = worker.received.rpartition(b"\n")[2]

    def _reload(self, worker: Worker, name: str) -> None:
        try:
            old = self.models.get(name)
            new = self.models.reload(name)
        except Exception as error:  # noqa: BLE001  it is the asking request's to answer
            send_line(worker.control, {"error": str(error)})
            return
        if new is not old:
            self._generation += 1
            del old
            release()
            self.say(logging.INFO, f"{name!r} is served as version {new.version} now")
        self._asked.append((worker, name))

    def _tell_about(self, worker: Worker, name: str) -> None:
        from multitudes.server.routes.models import about

        send_line(worker.control, {"about": about(self.models.get(name)).model_dump()})

    def _reap(self) -> None:
        """Note which workers have ended; those that were not told to are started again."""
        for worker in list(self.workers):
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if not pid:
                continue
            self.workers.remove(worker)
            worker.control.close()
            self._asked = [asked for asked in self._asked if asked[0] is not worker]
            self._forget_gauges(pid)
            if not (worker.is_ending or self._told):
                self._replace(worker, os.waitstatus_to_exitcode(status))

    def _replace(self, worker: Worker, code: int) -> None:
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        if code == FAILED and self._generation == 0 and not worker.is_up and not self._pause:
            raise ConfigError("a worker could not start; the line above says why")
        if not worker.is_up or time.monotonic() - worker.begun < SOON:
            self._pause = min(LONGEST_PAUSE, 2 * self._pause or 0.5)
            self._not_before = time.monotonic() + self._pause
        self.say(logging.WARNING, f"worker {worker.pid} ended with {how}: another one is started")

    def _forget_gauges(self, pid: int) -> None:
        """What a process that has ended counts goes on counting, but not what waited there."""
        for path in Path(os.environ[PROMETHEUS]).glob(f"gauge_live*_{pid}.db"):
            path.unlink(missing_ok=True)

    def _end(self) -> None:
        """Have all workers end; those that do not in time are ended."""
        self.listening.close()
        for worker in self.workers:
            worker.is_ending = True
            _kill(worker.pid, signal.SIGTERM)
        until = time.monotonic() + self.grace_seconds + LAST_WORDS
        while self.workers and time.monotonic() < until:
            self._reap()
            time.sleep(0.02)
        for worker in self.workers:
            _kill(worker.pid, signal.SIGKILL)
            os.waitpid(worker.pid, 0)
        self.workers.clear()

    def _take_signal(self, sig: int, _: FrameType | None) -> None:
        """Begin to end, or end at once if that was asked for already."""
        now = time.monotonic()
        if not self._told:
            self._told, self._told_at = sig, now
        elif now - self._told_at >= SENT_TWICE:
            for worker in self.workers:
                _kill(worker.pid, signal.SIGKILL)
            os._exit(128 + sig)


def check_forkable() -> None:
    """Refuse several workers where they could not share the models."""
    if not hasattr(os, "fork"):
        raise ConfigError("several workers take a system that can fork: use one worker here")
    if "torch" in sys.modules:  # with its threads, or a GPU that the parent has opened
        raise ConfigError(
            "a model that uses torch is served by one worker: it computes on all cores, or on the "
            "GPU, by itself, and could not be shared; leave --workers out"
        )


def own_socket(listening: socket.socket) -> socket.socket:
    """Return a socket that listens at the same address beside others, where that is possible."""
    if not sys.platform.startswith("linux"):
        return listening
    own = socket.socket(listening.family, listening.type, listening.proto)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    own.bind(listening.getsockname())
    own.listen(BACKLOG)
    listening.close()
    return own


def _signals() -> list[signal.Signals]:
    found = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    return [sig for sig in found if sig and signal.getsignal(sig) is not signal.SIG_IGN]


def _kill(pid: int, sig: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, sig)
