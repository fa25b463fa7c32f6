"""The cluster that is in use, if any: who has much work asks here who else could do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


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
    ) -> list[Result]:
        """The results of ``function(shared, items)``, done in parts, in the order of the items.

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
            Told the cost of what is done.
        """
        ...


_current: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


def current_cluster() -> Cluster | None:
    """The cluster of the innermost ``with`` around the caller; None for this machine alone."""
    return _current.get()


@contextmanager
def in_use(cluster: Cluster | None) -> Iterator[None]:
    """Make a cluster the current one; None for this machine alone."""
    token = _current.set(cluster)
    try:
        yield
    finally:
        _current.reset(token)
