"""The cluster in use, if any: code with much work asks here where else to run it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Further = Callable[[int], Sequence[tuple[Item, float]]]
"""Told the number of an item that is done; returns items that can be done now, with their costs."""


class Cluster(Protocol):
    """Machines that work together."""

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
        """Return the results of ``function(shared, items)``, computed in parts, in order.

        Parameters
        ----------
        function : callable of a module, no closure
            Takes `shared` and some of the items, gives a result for each.
        shared : object
            What every part needs; each machine gets it once. Its arrays are read-only there.
        items : sequence
            Put the longest first.
        costs : sequence of float, one per item
            Parts are cut to cost the same.
        advance : callable
            Called with the cost of what is done.
        further : callable, optional
            Called in this process, by one thread, with the number of each item that is done. What
            it returns is put at the end of `items`, and of the results.
        """
        ...

    def everywhere(self, function: Callable[[], Result]) -> list[Result]:
        """Return the results of a function of a module on each machine."""
        ...


_current: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


def current_cluster() -> Cluster | None:
    """Return the cluster of the innermost ``with``; None for this machine alone."""
    return _current.get()


@contextmanager
def in_use(cluster: Cluster | None) -> Iterator[None]:
    """Make a cluster the current one; None for this machine alone."""
    token = _current.set(cluster)
    try:
        yield
    finally:
        _current.reset(token)
