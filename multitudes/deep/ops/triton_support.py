"""Whether an operation runs as a Triton kernel on a device: the one switch of all kernels.

`MULTITUDES_KERNELS` in the environment is "on" (the default), "off", or names of operations to turn
off, e.g. ``-attention,-cell``; `kernels` sets the same for a while in code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

import torch

VARIABLE = "MULTITUDES_KERNELS"

_setting: list[str] = []
"""Set by `kernels`, innermost last; no context variable: backward passes have their own thread."""


def runs_triton(device: torch.device, op: str) -> bool:
    """Whether `op` runs as a kernel: on CUDA, with Triton installed, unless it is turned off."""
    return device.type == "cuda" and op not in _off() and ALL not in _off() and _has_triton()


ALL = "all"


@contextmanager
def kernels(setting: str) -> Iterator[None]:
    """Turn kernels "on" or "off", or some of them off ("-attention,-cell"), in all threads."""
    _parsed(setting)
    _setting.append(setting)
    try:
        yield
    finally:
        _setting.pop()


def _off() -> frozenset[str]:
    return _parsed(_setting[-1] if _setting else os.environ.get(VARIABLE, "on"))


@cache
def _parsed(setting: str) -> frozenset[str]:
    if setting in ("on", "off"):
        return frozenset([ALL] if setting == "off" else [])
    return frozenset(name.strip().removeprefix("-") for name in setting.split(","))


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
