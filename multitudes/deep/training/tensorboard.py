"""Event files for TensorBoard, where somebody wants them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from multitudes.errors import require


class Events:
    """Curves of a run; without a writer nothing is kept."""

    def __init__(self, writer: Any = None) -> None:
        self._writer = writer

    def add(self, values: Mapping[str, float], step: int, *, group: str) -> None:
        """Add a point to the curve ``group/name`` of each value; `step` counts batches."""
        if self._writer is not None:
            for name, value in values.items():
                self._writer.add_scalar(f"{group}/{name}", value, step)


@contextmanager
def event_files(folder: str | None) -> Iterator[Events]:
    """Curves in a folder; None keeps none."""
    if folder is None:
        yield Events()
        return
    require("tensorboard", extra="tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(folder)
    try:
        yield Events(writer)
    finally:
        writer.close()
