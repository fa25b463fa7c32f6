"""One thread that asks the models, and the requests that wait for it: never more than so many.

The models compute on all cores by themselves, so that requests take turns. The thread is not the
event loop's: what needs no model is answered at any time. Work is done in steps, between which it
can be called off: when its client has left, when it takes too long, when the server stops. Texts
that wait at the same time are tagged together; see `multitudes.server.batching`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from multitudes.kernels.threads import resolve_threads
from multitudes.server.batching import Batch, Job, Texts, taken
from multitudes.server.leaving import Leaving
from multitudes.server.refusals import BusyError, GoneError, QueueFullError

__all__ = ["Job", "Texts", "Work"]

Result = TypeVar("Result")


class Work:
    """The thread and the queue.

    Parameters
    ----------
    max_waiting : int
        Jobs beyond these are refused; those that are being done do not count.
    seconds : float
        For one job, its waiting included.
    n_threads : int, optional
        With which a model may compute; all cores by default.
    """

    def __init__(self, *, max_waiting: int, seconds: float, n_threads: int | None = None) -> None:
        self.max_waiting = max_waiting
        self.n_threads = resolve_threads(n_threads)
        self.seconds = seconds
        self.stopped = False
        self.watch: Callable[[Batch, float], None] | None = None  # told each batch and its seconds
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._current: list[Job] = []
        self._thread: threading.Thread | None = None

    @property
    def n_waiting(self) -> int:
        """How many jobs wait."""
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether another job would be refused."""
        return self.stopped or len(self._waiting) >= self.max_waiting

    @property
    def is_busy(self) -> bool:
        """Whether the thread is inside a job."""
        return bool(self._current)

    async def do(self, function: Callable[[Job], Result], *, gone: Leaving) -> Result:
        """Return what a function returns when its turn has come.

        Parameters
        ----------
        function : function of a Job
            Runs in the thread; asks ``job.go_on()`` between its steps.
        gone : Leaving
            Tells when the client has left.
        """
        result: Result = await self.result_of(Job(function), gone=gone)
        return result

    async def result_of(self, job: Job, *, gone: Leaving) -> Any:
        """Return the result of a job when its turns have come; of `Texts` a list."""
        loop = job.loop = asyncio.get_running_loop()
        future = job.future = loop.create_future()
        self._add(job)
        timer = loop.call_later(self.seconds, _refuse, future, self._too_late)
        forget = gone(partial(_refuse, future, _left))
        try:
            return await future
        finally:
            timer.cancel()
            forget()
            if not job.is_done:
                self._call_off(job)

    def start(self) -> None:
        """Take jobs again after `stop`."""
        with self._changed:
            self.stopped = False

    def stop(self) -> None:
        """Answer all that wait, and all that come, with an error."""
        with self._changed:
            self.stopped = True
            self._thread = None
            jobs = [*self._waiting, *self._current]
            self._waiting.clear()
            self._changed.notify_all()
            for job in jobs:
                job.called_off = True
                if job.error is None and not job.is_done:
                    job.error = BusyError("the server is stopping: try again")
            deliver(jobs)

    def _add(self, job: Job) -> None:
        with self._changed:
            if self.stopped:
                raise BusyError("the server is stopping: try again")
            if len(self._waiting) >= self.max_waiting:
                raise QueueFullError(
                    f"{self.max_waiting:,} requests wait already: try again in a moment"
                )
            self._waiting.append(job)
            if self._thread is None:
                # A daemon: a process that ends does not wait for a prediction.
                self._thread = threading.Thread(target=self._run, name="predicting", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _too_late(self) -> BusyError:
        return BusyError(
            f"there was no answer within {self.seconds:g} seconds: send fewer texts at once, or "
            "try again later"
        )

    def _call_off(self, job: Job) -> None:
        job.called_off = True
        with self._changed, suppress(ValueError):
            self._waiting.remove(job)

    def _run(self) -> None:
        me = threading.current_thread()
        while True:
            with self._changed:
                while not self._waiting and self._thread is me:
                    self._changed.wait()
                if self._thread is not me:
                    return
                batch = taken(self._waiting)
                self._current = batch.jobs
            begun = time.perf_counter()
            batch.step(self.n_threads)
            if self.watch is not None:
                self.watch(batch, time.perf_counter() - begun)
            with self._changed:  # `stop` answers too
                if self._thread is not me:
                    return
                self._current = []
                self._waiting.extend(
                    job for job in batch.jobs if not (job.is_done or job.called_off)
                )
                deliver(job for job in batch.jobs if job.is_done)
            del batch  # let go of its texts


def deliver(jobs: Iterable[Job]) -> None:
    """Have results reach those that wait for them: one call for all of an event loop."""
    of_loop: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in jobs:
        of_loop.setdefault(job.loop, []).append(job)
    for loop, its_jobs in of_loop.items():
        with suppress(RuntimeError):  # it has ended, and nobody waits
            loop.call_soon_threadsafe(_give, its_jobs)


def _give(jobs: list[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)


def _refuse(future: asyncio.Future[Any], error: Callable[[], Exception]) -> None:
    if not future.done():
        future.set_exception(error())


def _left() -> GoneError:
    return GoneError("the client left before it was answered")
