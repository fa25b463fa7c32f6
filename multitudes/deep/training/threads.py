"""How many threads torch computes with on a CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def torch_threads(n_jobs: int | None) -> Iterator[None]:
    """Let torch use so many threads inside; None leaves it as it is."""
    if n_jobs is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(n_jobs)
    try:
        yield
    finally:
        torch.set_num_threads(before)
