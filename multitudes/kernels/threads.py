"""Threads for the kernels: how many, and a team that runs them.

Kernels are sequential and release the GIL (``nogil=True``), and a `ThreadTeam` runs many calls at
once. Compared with numba's own ``parallel=True``: calls may come from several Python threads at
once (numba's default layer crashes then), a forked child stays usable, work is dealt out as threads
get free, and compiling takes a fraction of the time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from multitudes.errors import ConfigError

Item = TypeVar("Item")
Result = TypeVar("Result")


def resolve_threads(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`: None and -1 are all cores of this process."""
    if n_jobs is None or n_jobs == -1:
        return available_cores()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs < 1:
        raise ConfigError(
            f"n_jobs must be an int >= 1, or -1 or None for all cores, got {n_jobs!r}"
        )
    return n_jobs


def available_cores() -> int:
    """Return the cores this process may run on: the affinity mask if the system has one."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ThreadTeam:
    """Runs GIL-free calls on `n_threads` threads; a team of one runs them in the caller's thread.

    Use it as a context manager. Results come in the order of the items, whoever computed them.
    Threads start when there is work for two of them, and stay until the team ends.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = resolve_threads(n_threads)
        self._pool: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``[function(item) for item in items]``; put the longest items first."""
        items = list(items)
        if self.n_threads == 1 or len(items) < 2:
            return [function(item) for item in items]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads)
        return list(self._pool.map(function, items))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


class BufferPool:
    """Arrays that calls borrow and give back, so that the next call need not ask for memory again.

    A team's threads end with it, and their `ThreadBuffers` too; what is lent here outlives them.
    Copies and pickles start empty.
    """

    def __init__(self) -> None:
        self._free: dict[object, list[Any]] = {}

    @contextmanager
    def lend(self, key: object, make: Callable[[], Result]) -> Iterator[Result]:
        """Lend a buffer of a kind for the time of a ``with``; make one if none is free."""
        free = self._free.setdefault(key, [])
        try:
            buffer: Result = free.pop()
        except IndexError:
            buffer = make()
        try:
            yield buffer
        finally:
            free.append(buffer)

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()


class ThreadBuffers:
    """Arrays that each thread keeps for itself between calls; copies and pickles start empty."""

    def __init__(self) -> None:
        self._local = threading.local()

    def get(self, name: str, make: Callable[[], Result]) -> Result:
        """Return the calling thread's buffer of a name, made on first use."""
        if not hasattr(self._local, name):
            setattr(self._local, name, make())
        buffer: Result = getattr(self._local, name)
        return buffer

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()
