"""The batches of an epoch, grouped into optimizer steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from multitudes.errors import DataError

B = TypeVar("B")


@dataclass(frozen=True)
class Batches(Generic[B]):
    """Where batches come from.

    Parameters
    ----------
    draw : function (epoch, start) -> iterator of batches
        The batches of an epoch from number `start` on; both count from 0. The same arguments must
        give the same batches: a resumed run starts in the middle of an epoch, and several processes
        draw the same ones, of which each computes its part (see `World`).
    per_epoch : int
        Batches of one epoch.
    n_instances : int
        Instances of one epoch, for the throughput.
    """

    draw: Callable[[int, int], Iterator[B]]
    per_epoch: int
    n_instances: int

    def __post_init__(self) -> None:
        if self.per_epoch < 1:
            raise DataError(
                f"there is nothing to train on: an epoch of {self.n_instances} instances has "
                f"{self.per_epoch} batches; give more instances or lower batch_size"
            )


def windows(
    batches: Batches[B],
    epoch: int,
    start: int,
    *,
    size: int,
) -> Iterator[list[B]]:
    """The batches of an epoch, `size` at a time; the last window may be smaller."""
    drawn = iter(batches.draw(epoch, start))
    try:
        window: list[B] = []
        for batch in drawn:
            window.append(batch)
            if len(window) == size:
                yield window
                window = []
        if window:
            yield window
    finally:
        close = getattr(drawn, "close", None)  # ends a generator's threads at once
        if close is not None:
            close()


def steps_per_epoch(batches: Batches[B], *, size: int) -> int:
    """Optimizer steps of one epoch: how many `windows` there are."""
    return -(-batches.per_epoch // size)
