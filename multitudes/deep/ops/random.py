"""Random choices inside Triton kernels: a scrambled counter, cheap enough to be drawn twice.

`tl.rand` takes a hundred operations a number, more than the attention it drops weights from. A
share of values to drop needs no better than this, and what a backward pass can draw again need not
be kept.
"""

from __future__ import annotations

from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor


class Draw(NamedTuple):
    """What is dropped: a share of values, by one of the seeds that lie on the device."""

    seeds: Tensor  # int64 (n,), drawn there, so that the host never waits
    place: int  # of the seed among them
    p: float  # share of values set to zero; 0 outside training


@triton.jit
def _mixed(x):
    """Scrambled bits of uint32 numbers: neighbors come out unrelated."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def key_of(random_state, stream):
    """A key () for each number of a stream, from a seed: its own draw."""
    return _mixed(random_state.to(tl.uint32) + stream.to(tl.uint32) * 0x9E3779B1)


@triton.jit
def kept(key, cell, p):
    """Which cells of a block stay: all but a share `p`.

    Parameters
    ----------
    key : uint32 ()
    cell : integer block, no number twice
    p : float32 (), below 1
    """
    x = key + cell.to(tl.uint32) * 0x9E3779B1
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    # Compared as they are: the upper bits decide, and those are mixed.
    return x >= tl.cast(p * 4294967296.0, tl.uint32)
