"""Whether a device runs Triton kernels."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import torch


def runs_triton(device: torch.device) -> bool:
    """CUDA, with Triton installed: it comes with torch on Linux, and not elsewhere."""
    return device.type == "cuda" and _has_triton()


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
