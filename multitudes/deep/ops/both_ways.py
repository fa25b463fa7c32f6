"""Texts in both directions on CUDA through Triton: rows are read where they are; see `both_ways`.

A program does one position of one text: it copies rows, from a place that `mirror` says.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

AT_ONCE = 1024


@triton.jit
def _split_kernel(
    x,  # IN (l, b, d)
    mirror,  # IN int64 (l, b)
    out,  # OUT (2, l, b, d)
    x_time,
    x_text,
    n,
    d,
    AT_ONCE: tl.constexpr,
):
    row, lane = tl.program_id(0).to(tl.int64), tl.arange(0, AT_ONCE)
    time, text = row // n, row % n
    source = tl.load(mirror + row)
    for first in range(0, d, AT_ONCE):
        place = first + lane
        one = tl.load(x + time * x_time + text * x_text + place, mask=place < d, other=0.0)
        two = tl.load(x + source * x_time + text * x_text + place, mask=place < d, other=0.0)
        tl.store(out + row * d + place, one, mask=place < d)
        tl.store(out + (tl.num_programs(0) + row) * d + place, two, mask=place < d)


@triton.jit
def _sum_kernel(
    given,  # IN (2, l, b, d)
    mirror,  # IN int64 (l, b)
    out,  # OUT (l, b, d)
    n,
    d,
    AT_ONCE: tl.constexpr,
):
    row, lane = tl.program_id(0).to(tl.int64), tl.arange(0, AT_ONCE)
    other = tl.num_programs(0) + tl.load(mirror + row) * n + row % n
    for first in range(0, d, AT_ONCE):
        place = first + lane
        one = tl.load(given + row * d + place, mask=place < d, other=0.0).to(tl.float32)
        two = tl.load(given + other * d + place, mask=place < d, other=0.0).to(tl.float32)
        tl.store(out + row * d + place, (one + two).to(out.dtype.element_ty), mask=place < d)


@triton.jit
def _join_kernel(
    states,  # IN (2, l, b, h)
    mirror,  # IN int64 (l, b)
    active,  # IN bool (l, b)
    out,  # OUT (b, l, 2 h)
    states_group,
    states_time,
    l,  # noqa: E741 (as in the shapes)
    n,
    h,
    AT_ONCE: tl.constexpr,
):
    row, lane = tl.program_id(0).to(tl.int64), tl.arange(0, AT_ONCE)
    time, text = row // n, row % n
    source = tl.load(mirror + row)
    there = tl.where(tl.load(active + row) != 0, h, 0)  # numbers to read: none at padding
    out += (text * l + time) * 2 * h
    for first in range(0, h, AT_ONCE):
        place = first + lane
        inside = place < h
        one = states + time * states_time + text * h + place
        two = states + states_group + source * states_time + text * h + place
        tl.store(out + place, tl.load(one, mask=place < there, other=0.0), mask=inside)
        tl.store(out + h + place, tl.load(two, mask=place < there, other=0.0), mask=inside)


@triton.jit
def _part_kernel(
    given,  # IN (l, b, 2 h)
    mirror,  # IN int64 (l, b)
    active,  # IN bool (l, b)
    out,  # OUT (2, l, b, h)
    given_time,
    given_text,
    n,
    h,
    AT_ONCE: tl.constexpr,
):
    row, lane = tl.program_id(0).to(tl.int64), tl.arange(0, AT_ONCE)
    time, text = row // n, row % n
    source = tl.load(mirror + row)
    there = tl.where(tl.load(active + row) != 0, h, 0)  # numbers to read: none at padding
    for first in range(0, h, AT_ONCE):
        place = first + lane
        inside = place < h
        one = given + time * given_time + text * given_text + place
        two = given + source * given_time + text * given_text + h + place
        tl.store(out + row * h + place, tl.load(one, mask=place < there, other=0.0), mask=inside)
        away = (tl.num_programs(0) + row) * h + place
        tl.store(out + away, tl.load(two, mask=place < there, other=0.0), mask=inside)


def split_on_device(x: Tensor, mirror: Tensor) -> Tensor:
    """(2, l, b, d) of x (l, b, d), numbers of a word side by side; mirror (l, b) contiguous."""
    x = x if x.stride(2) == 1 else x.contiguous()
    n_words, n, d = x.shape
    out = x.new_empty((2, n_words, n, d))
    if out.numel():
        _split_kernel[(n_words * n,)](x, mirror, out, *x.stride()[:2], n, d, **_settings(d))
    return out


def sum_on_device(given: Tensor, mirror: Tensor) -> Tensor:
    """The gradient of `split_on_device`: (l, b, d) of (2, l, b, d)."""
    given = given.contiguous()
    _, n_words, n, d = given.shape
    out = given.new_empty((n_words, n, d))
    if out.numel():
        _sum_kernel[(n_words * n,)](given, mirror, out, n, d, **_settings(d))
    return out


def join_on_device(states: Tensor, mirror: Tensor, active: Tensor) -> Tensor:
    """(l, b, 2 h), texts first in memory, of states (2, l, b, h) whose (b, h) are contiguous."""
    _, n_words, n, h = states.shape
    out = states.new_empty((n, n_words, 2 * h))
    if out.numel():
        _join_kernel[(n_words * n,)](
            states, mirror, active, out, *states.stride()[:2], n_words, n, h, **_settings(h)
        )
    return out.transpose(0, 1)


def part_on_device(given: Tensor, mirror: Tensor, active: Tensor) -> Tensor:
    """The gradient of `join_on_device`: (2, l, b, h) of (l, b, 2 h)."""
    given = given if given.stride(2) == 1 else given.contiguous()
    n_words, n, width = given.shape
    out = given.new_empty((2, n_words, n, width // 2))
    if out.numel():
        _part_kernel[(n_words * n,)](
            given, mirror, active, out, *given.stride()[:2], n, width // 2, **_settings(width // 2)
        )
    return out


def _settings(width: int) -> dict[str, int]:
    lanes = min(AT_ONCE, max(32, triton.next_power_of_2(width)))
    return {"AT_ONCE": lanes, "num_warps": max(1, min(4, lanes // 128))}
