"""The one switch of all kernels: whether an operation runs as a Triton kernel on a device.

``MULTITUDES_KERNELS`` in the environment is "on" (the default), "off", or the operations to turn
off, e.g. ``-additive_attention,-gru_cell``; `kernels` is the same as a setting in code. An
operation that is off is computed by its plain form, by operations of torch.

Triton comes with CUDA builds of torch, on Linux. Everything else works without it: `triton` and
`tl` are then None, and `jit` leaves functions as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

from multitudes.errors import ConfigError, suggestion

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None

__all__ = ["OPERATIONS", "VARIABLE", "jit", "kernels", "runs_kernel", "tl", "triton"]

VARIABLE = "MULTITUDES_KERNELS"
OPERATIONS = (
    "additive_attention",
    "depthwise_conv",
    "gelu",
    "gru_cell",
    "label_choice",
    "matching",
    "residual_norm",
    "short_attention",
    "transport",
)

_settings: list[str] = []  # of `kernels`, innermost last; for all threads: autograd has its own


def runs_kernel(operation: str, device: torch.device) -> bool:
    """Whether `operation` runs as a kernel: on CUDA, with Triton installed, if it is not off.

    In Triton's interpreter (``TRITON_INTERPRET=1``), for tests, kernels run on a CPU too.
    """
    if triton is None or (device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1"):
        return False
    setting = _settings[-1] if _settings else os.environ.get(VARIABLE, "on")
    return operation not in _turned_off(setting)


@contextmanager
def kernels(setting: str) -> Iterator[None]:
    """Turn kernels "on" or "off", or some of them off ("-gru_cell,-matching"), in all threads."""
    _turned_off(setting)  # refuses what it does not know
    _settings.append(setting)
    try:
        yield
    finally:
        _settings.pop()


def jit(**options: Any) -> Callable[[Any], Any]:
    """``triton.jit`` with these options; without Triton the function as it is."""

    def decorate(function: Any) -> Any:
        return function if triton is None else triton.jit(**options)(function)

    return decorate


@cache
def _turned_off(setting: str) -> frozenset[str]:
    """The operations that a setting turns off."""
    if setting in ("on", "off"):
        return frozenset(OPERATIONS if setting == "off" else ())
    names = [name.strip() for name in setting.split(",")]
    for name in names:
        if not name.startswith("-") or name[1:] not in OPERATIONS:
            raise ConfigError(
                f"{VARIABLE} must be 'on', 'off', or operations to turn off such as '-gru_cell', "
                f"got {setting!r}: {suggestion(name.removeprefix('-'), OPERATIONS)}"
            )
    return frozenset(name[1:] for name in names)
