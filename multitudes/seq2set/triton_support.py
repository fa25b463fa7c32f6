"""Whether a tensor's device runs Triton kernels."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from torch import Tensor


def runs_triton(tensor: Tensor) -> bool:
    """CUDA, with Triton installed: it comes with torch on Linux."""
    return tensor.device.type == "cuda" and _has_triton()


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
