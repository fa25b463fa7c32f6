"""A device that is none: its tensors lie on the CPU, and what is copied from them arrives late."""

from __future__ import annotations

from collections.abc import Callable

import torch

CUDA = torch.device("cuda", 1)
on_their_way: list[Callable[[], object]] = []
waits: list[str] = []
"""What made the host wait for the device."""


class OnDevice(torch.Tensor):
    """A tensor that says it is on the device; a copy to the host holds -1 until it has arrived."""

    @property
    def device(self) -> torch.device:
        return CUDA

    def to(self, *args, non_blocking=False, **kwargs):
        if args != ("cpu",):
            return super().to(*args, **kwargs)
        source = self.as_subclass(torch.Tensor)
        if not non_blocking:
            waits.append("copy")
            return source
        copy = torch.full_like(source, -1)
        on_their_way.append(lambda: copy.copy_(source))
        return copy

    def numpy(self):
        raise TypeError("numpy cannot read the memory of a device")

    cpu = tolist = item = numpy


class Event:
    """Knows what was under way on the device's stream when it was recorded."""

    def __init__(self) -> None:
        self.before: list[Callable[[], object]] = []

    def record(self, stream: object) -> None:
        assert stream == ("stream", CUDA)
        self.before = list(on_their_way)

    def synchronize(self) -> None:
        for arrive in self.before:
            arrive()


class Pinned(torch.Tensor):
    """A tensor in memory from which the device copies by itself."""

    def to(self, device, *, non_blocking=False):
        assert device == CUDA
        if not non_blocking:
            waits.append("copy")
        return self.as_subclass(OnDevice)


def lend(monkeypatch) -> None:
    """Make torch take it for a CUDA device."""
    on_their_way.clear()
    waits.clear()
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: ("stream", device))
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: self.as_subclass(Pinned))
