"""Blocks of a softmax over all labels on CUDA through Triton; see `softmax_blocks`.

A program reads one row, so that logits are read once in the precision they were multiplied in.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from multitudes.seq2set.network.softmax_blocks import Products, Running

AT_ONCE = 2048
TWINS = 16  # labels asked for that are compared with all others together


@triton.jit
def _logits(products, bias, column, inside, other, HAS_BIAS: tl.constexpr):
    """Some of a row, in float32."""
    logits = tl.load(products + column, mask=inside, other=other).to(tl.float32)
    if HAS_BIAS:
        logits += tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
    return logits


@triton.jit
def _absorb_kernel(
    products,  # IN (r, c)
    bias,  # IN (c,)
    places,  # IN int64 (r, k)
    highest,  # IN/OUT float32 (r,)
    total,  # IN/OUT float32 (r,)
    asked,  # IN/OUT float32 (r, k)
    shrink,  # OUT float32 (r,)
    unscaled,  # OUT (r, c)
    c,
    k,
    HAS_BIAS: tl.constexpr,
    HAS_UNSCALED: tl.constexpr,
    AT_ONCE: tl.constexpr,
    K: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    products += row * c
    label = tl.arange(0, K)
    place = tl.load(places + row * k + label, mask=label < k, other=-1)
    here = (place >= 0) & (place < c)
    found = _logits(products, bias, place, here, 0.0, HAS_BIAS)
    tl.store(asked + row * k + label, found, mask=here)
    before = tl.load(highest + row)
    most, sum_ = before, tl.load(total + row)
    column = tl.arange(0, AT_ONCE)
    for first in range(0, c, AT_ONCE):
        inside = first + column < c
        some = _logits(products, bias, first + column, inside, float("-inf"), HAS_BIAS)
        now = tl.maximum(most, tl.max(some, 0))
        sum_ = sum_ * tl.exp(most - now) + tl.sum(tl.exp(some - now), 0)
        most = now
    tl.store(highest + row, most)
    tl.store(total + row, sum_)
    tl.store(shrink + row, tl.exp(before - most))
    if HAS_UNSCALED:
        for first in range(0, c, AT_ONCE):
            inside = first + column < c
            some = _logits(products, bias, first + column, inside, float("-inf"), HAS_BIAS)
            out = unscaled + row * c + first + column
            tl.store(out, tl.exp(some - most).to(unscaled.dtype.element_ty), mask=inside)


@triton.jit
def _gradient(
    products,
    bias,
    along,
    column,
    inside,
    normalizer,
    factor,
    HAS_BIAS: tl.constexpr,
    HAS_ALONG: tl.constexpr,
):
    """Of some logits of a row, as if none had been asked for."""
    logits = _logits(products, bias, column, inside, float("-inf"), HAS_BIAS)
    probability = tl.exp(logits - normalizer)
    if HAS_ALONG:
        factor += tl.load(along + column, mask=inside, other=0.0).to(tl.float32)
    return probability * factor


@triton.jit
def _spread_kernel(
    products,  # IN (r, c)
    bias,  # IN (c,)
    places,  # IN int64 (r, k)
    normalizer,  # IN float32 (r,)
    shift,  # IN float32 (r,)
    along,  # IN (r, c)
    to_asked,  # IN float32 (r, k)
    out,  # OUT (r, c), which may be `products` or `along`
    c,
    k,
    HAS_BIAS: tl.constexpr,
    HAS_ALONG: tl.constexpr,
    AT_ONCE: tl.constexpr,
    K: tl.constexpr,
    TWINS: tl.constexpr,
):
    row, first = tl.program_id(0).to(tl.int64), tl.program_id(1) * AT_ONCE
    column, label, twin = first + tl.arange(0, AT_ONCE), tl.arange(0, K), tl.arange(0, TWINS)
    products, along, out = products + row * c, along + row * c, out + row * c
    factor, total = tl.load(shift + row), tl.load(normalizer + row)
    inside = column < c
    gradient = _gradient(products, bias, along, column, inside, total, factor, HAS_BIAS, HAS_ALONG)
    # Where a label is asked for, apart from the others: looking for it in all columns costs more.
    place = tl.load(places + row * k + label, mask=label < k, other=-1)
    here = (place >= first) & (place < tl.minimum(first + AT_ONCE, c))
    at_place = _gradient(products, bias, along, place, here, total, factor, HAS_BIAS, HAS_ALONG)
    for other in range(0, k, TWINS):  # a label may be asked for twice
        known = other + twin < k
        same = tl.load(places + row * k + other + twin, mask=known, other=-1)
        more = tl.load(to_asked + row * k + other + twin, mask=known, other=0.0)
        at_place += tl.sum(tl.where(place[:, None] == same[None, :], more[None, :], 0.0), 1)
    tl.debug_barrier()  # all is read before it is written over
    tl.store(out + column, gradient.to(out.dtype.element_ty), mask=inside)
    tl.debug_barrier()  # and this behind that
    tl.store(out + place, at_place.to(out.dtype.element_ty), mask=here)


def absorb_on_device(block: Products, running: Running, unscaled: Tensor | None) -> Tensor:
    """See `multitudes.seq2set.network.softmax_blocks.absorb`; all is contiguous."""
    n, c = block.products.shape
    k = block.places.shape[1]
    shrink = torch.empty_like(running.total)
    if n:
        _absorb_kernel[(n,)](
            block.products,
            block.products if block.bias is None else block.bias,
            block.places,
            *running,
            shrink,
            block.products if unscaled is None else unscaled,
            c,
            k,
            HAS_BIAS=block.bias is not None,
            HAS_UNSCALED=unscaled is not None,
            AT_ONCE=AT_ONCE,
            K=triton.next_power_of_2(max(1, k)),
            num_warps=4,
        )
    return shrink


def spread_on_device(
    block: Products,
    normalizer: Tensor,
    shift: Tensor,
    along: Tensor | None,
    to_asked: Tensor,
    out: Tensor,
) -> None:
    """See `multitudes.seq2set.network.softmax_blocks.spread`; all is contiguous."""
    n, c = block.products.shape
    k = block.places.shape[1]
    if n:
        _spread_kernel[(n, triton.cdiv(c, AT_ONCE))](
            block.products,
            block.products if block.bias is None else block.bias,
            block.places,
            normalizer,
            shift,
            block.products if along is None else along,
            to_asked.contiguous(),
            out,
            c,
            k,
            HAS_BIAS=block.bias is not None,
            HAS_ALONG=along is not None,
            AT_ONCE=AT_ONCE,
            K=triton.next_power_of_2(max(1, k)),
            TWINS=TWINS,
            num_warps=4,
        )
