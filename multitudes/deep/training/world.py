"""World: the processes that train one model together, and what they tell each other.

All of them see the same batches, in the same order. Of each batch a process computes a part; what
belongs together is gathered, so that every process has what a single one would have had.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function
from torch.nn import Parameter

from multitudes.errors import ConfigError
from multitudes.types import IntArray

ROWS_AT_ONCE = 1 << 16
"""Rows of a large array that a process sends in one go."""

CPU = torch.device("cpu")
Array = TypeVar("Array", bound=npt.NDArray[Any])


@dataclass(frozen=True)
class World:
    """Which of how many processes this is; by default the only one.

    Parameters
    ----------
    rank : int
        Number of this process, from 0.
    size : int
        Processes.
    device : torch.device
        Where this process computes: with several GPUs, its own.
    """

    rank: int = 0
    size: int = 1
    device: torch.device = CPU

    @classmethod
    def join(cls, device: torch.device) -> World:
        """Join those that were started with this process, by torchrun or ``accelerate launch``.

        Waits for all of them. A process that was started alone is all of its world, on `device`.
        """
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls(device=device)
        from accelerate.state import PartialState

        state = PartialState(cpu=device.type == "cpu")
        if state.device.type != device.type:
            raise ConfigError(
                f"this process trains on {state.device} already, not on {device}: use that "
                "device, or new processes"
            )
        return cls(state.process_index, state.num_processes, state.device)

    @property
    def is_first(self) -> bool:
        """Whether this process speaks and saves for all."""
        return self.rank == 0

    # ------------------------------------------------------------------ parts of a batch

    def share(self, n: int) -> int:
        """Rows that each process takes of `n`: as many as the others."""
        return -(-n // self.size)

    def own(self, n: int) -> IntArray:
        """The rows (share,) of `n` that this process takes; past the end, the last one again.

        The parts of all processes, one after the other, begin with the rows 0 to n - 1. So
        everyone has the same number, and none has nothing: a process that did would not take part
        in sharing gradients.
        """
        first = self.rank * self.share(n)
        rows: IntArray = np.minimum(np.arange(first, first + self.share(n)), n - 1)
        return rows

    def own_rows(self, rows: Tensor) -> Tensor:
        """The part (share, ...) of rows (n, ...), which all processes have, that is this one's.

        Backwards, each process gets the gradient of all n rows.
        """
        return rows if self.size == 1 else _Own.apply(rows, self)  # type: ignore[no-untyped-call]

    def gathered(self, own: Tensor, n: int) -> Tensor:
        """All n rows (n, ...), of the parts (share, ...) that the processes made of them.

        Backwards, a process gets the gradient of its own part, times the number of processes: the
        loss of all rows is computed by each of them, and gradients of weights are *averaged* over
        processes, where their sum is wanted.
        """
        return own if self.size == 1 else _Gathered.apply(own, n, self)  # type: ignore[no-untyped-call]

    # ------------------------------------------------------------------ means

    def mean(self, value: Tensor) -> Tensor:
        """The mean of a tensor over all processes."""
        if self.size == 1:
            return value
        total = value.to(self.device, copy=True)
        dist.all_reduce(total)
        return total / self.size

    def average_gradients(self, parameters: Iterable[Parameter]) -> None:
        """Give all processes the mean of their gradients, in one exchange."""
        if self.size == 1:
            return
        grads = [p.grad for p in parameters if p.grad is not None]
        mean = self.mean(torch.cat([grad.ravel() for grad in grads]))
        for grad, own in zip(grads, torch.split(mean, [g.numel() for g in grads]), strict=True):
            grad.copy_(own.view_as(grad))

    # ------------------------------------------------------------------ large arrays

    def from_first(self, tensor: Tensor) -> Tensor:
        """The same values in all processes, those of the first; changed in place."""
        if self.size > 1:
            sent = tensor.to(self.device)
            dist.broadcast(sent, src=0)
            if sent is not tensor:
                tensor.copy_(sent)
        return tensor

    def array_from_first(self, array: Array) -> Array:
        """The first process's array in all of them, whatever sizes the others' have."""
        if self.size == 1:
            return array
        shape = self.from_first(torch.tensor(array.shape, dtype=torch.int64)).tolist()
        found = np.array(array) if self.is_first else np.empty(shape, array.dtype)
        return self.from_first(torch.from_numpy(found)).numpy()  # type: ignore[return-value]

    def gathered_array(self, own: Array, n: int) -> Array:
        """All n rows (n, ...), in the host's memory, of parts (share, ...); see `own`."""
        if self.size == 1:
            return own
        share = len(own)
        out = np.empty((self.size * share, *own.shape[1:]), own.dtype)
        for start in range(0, share, ROWS_AT_ONCE):
            part = torch.from_numpy(own[start : start + ROWS_AT_ONCE]).to(self.device)
            parts = _all_parts(part, self).cpu().numpy()  # (size * k, ...)
            for rank, found in enumerate(np.split(parts, self.size)):
                out[rank * share + start : rank * share + start + len(found)] = found
        return out[:n]  # type: ignore[return-value]


ALONE = World()


class _Gathered(Function):
    """See `World.gathered`."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, n: int, world: World) -> Tensor:
        ctx.world, ctx.share = world, len(own)
        return _all_parts(own, world)[:n]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        grad, first = grads[0], ctx.world.rank * ctx.share
        own = grad[first : first + ctx.share] * ctx.world.size  # fewer rows at the end
        missing = ctx.share - len(own)
        if missing:
            own = torch.cat([own, own.new_zeros(missing, *own.shape[1:])])
        return own, None, None


class _Own(Function):
    """See `World.own_rows`."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, world: World) -> Tensor:
        ctx.world, ctx.n = world, len(rows)
        share, first = world.share(len(rows)), world.rank * world.share(len(rows))
        if first + share <= len(rows):
            return rows[first : first + share].clone()
        where = torch.arange(first, first + share, device=rows.device).clamp(max=len(rows) - 1)
        return rows[where]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        # Rows past the end are cut off when they are gathered: their gradient is 0.
        return _all_parts(grads[0] / ctx.world.size, ctx.world)[: ctx.n], None


def _all_parts(own: Tensor, world: World) -> Tensor:
    """The parts (share, ...) of all processes, one after the other, (size * share, ...)."""
    out = own.new_empty(world.size * len(own), *own.shape[1:])
    dist.all_gather(list(out.chunk(world.size)), own.contiguous())
    return out
