"""A cluster of this machine alone: the same work, done by its threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from multitudes.engine.cluster import Item, Result


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
    ) -> list[Result]:
        """See `Cluster.map`."""

        def one(number: int) -> Result:
            (result,) = function(shared, [items[number]])
            advance(costs[number])
            return result

        if self._n_threads == 1 or len(items) < 2:
            return [one(number) for number in range(len(items))]
        with ThreadPoolExecutor(self._n_threads) as pool:
            try:
                return list(pool.map(one, range(len(items))))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def everywhere(self, function: Callable[[], Result]) -> list[Result]:
        """See `Cluster.everywhere`."""
        return [function()]
