"""A cluster of this machine alone: the same work, done by its threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

from multitudes.engine.cluster import Further, Item, Result


class LocalCluster:
    """A `Cluster` of this process alone.

    Parameters
    ----------
    n_jobs : int, optional
        Threads; defaults to all cores.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self._n_threads = (os.cpu_count() or 1) if n_jobs in (None, -1) else int(n_jobs or 1)

    def map(
        self,
        function: Callable[[Any, list[Item]], list[Result]],
        shared: Any,
        items: Sequence[Item],
        *,
        costs: Sequence[float],
        advance: Callable[[float], None],
        further: Further[Item] | None = None,
    ) -> list[Result]:
        """See `Cluster.map`."""
        todo = list(zip(items, costs, strict=True))
        results: dict[int, Result] = {}

        def one(number: int) -> Result:
            item, cost = todo[number]
            (result,) = function(shared, [item])
            advance(cost)
            return result

        def done(number: int, result: Result) -> range:
            """Keep a result; returns the numbers of what can be done now."""
            results[number] = result
            before = len(todo)
            todo.extend(further(number) if further else ())
            return range(before, len(todo))

        if self._n_threads == 1 or (len(todo) < 2 and further is None):
            number = 0
            while number < len(todo):
                done(number, one(number))
                number += 1
            return [results[number] for number in range(len(todo))]
        with ThreadPoolExecutor(self._n_threads) as pool:
            try:
                waiting = {pool.submit(one, number): number for number in range(len(todo))}
                while waiting:
                    ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in ended:
                        number = waiting.pop(future)
                        new = done(number, future.result())
                        waiting |= {pool.submit(one, number): number for number in new}
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return [results[number] for number in range(len(todo))]

    def everywhere(self, function: Callable[[], Result]) -> list[Result]:
        """See `Cluster.everywhere`."""
        return [function()]
