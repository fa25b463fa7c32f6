"""Additive attention on CUDA through Triton; see `multitudes.seq2set.network.attention_steps`.

A step is two kernels each way, split so that thousands of programs run side by side: a text has too
few positions, and a batch too few texts, to keep a device busy with one program for each. What sums
over width is split by positions, what sums over positions by width. Nothing of (b, m, h) is written
but the gradient of keys. Positions of no memory, and so padding, are left out.

What takes time is not reading but waiting for what was read, so that all of a program's reads are
on their way at once, or those of the next positions while these are worked on; and a short second
memory adds its few positions, not programs or a pass of its own.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from multitudes.deep.ops.cell import tanh
from multitudes.seq2set.network.attention_steps import Attended, Attention

KEYS, POSITIONS = 4, 8  # read together: keys of whole width, and all others
KEY_LANES, VALUE_LANES = 128, 256  # a part of their width
LOWEST = tl.constexpr(-1e38)  # instead of -inf, whose difference to itself is no number


@triton.jit
def span(spans, instance, MEMORY: tl.constexpr, N_MEMORIES: tl.constexpr):
    """A memory's first position in a text, and the one behind its last."""
    at = spans + (instance * N_MEMORIES + MEMORY) * 2
    return tl.load(at), tl.load(at + 1)


@triton.jit
def _all_spans(spans, instance, N_MEMORIES: tl.constexpr):
    """Both memories' spans; where there is but one, the other is empty: from 0 to 0."""
    tl.static_assert(N_MEMORIES <= 2)
    start, stop = span(spans, instance, 0, N_MEMORIES)
    second, end = start * 0, start * 0
    if N_MEMORIES == 2:
        second, end = span(spans, instance, 1, N_MEMORIES)
    return start, stop, second, end


@triton.jit
def _energies_kernel(
    keys,  # IN (b, m, h)
    spans,  # IN int32 (b, n_memories, 2)
    energy,  # IN (h,)
    query,  # IN (b, h)
    energies,  # OUT float32 (b, m), 0 before: only positions of a memory are written
    query_row,
    m,
    h,
    N_MEMORIES: tl.constexpr,
    ROWS: tl.constexpr,
    H: tl.constexpr,
):
    instance, first = tl.program_id(0).to(tl.int64), tl.program_id(1) * ROWS
    start, stop, second, end = _all_spans(spans, instance, N_MEMORIES)
    n_first = stop - start
    # Positions are counted through all memories, so that no program has but a few of each.
    number, lane = first + tl.arange(0, ROWS), tl.arange(0, H)
    own = number < n_first + end - second
    row = number + tl.where(number < n_first, start, second - n_first)
    if first < n_first + end - second:
        at = keys + (instance * m + row)[:, None] * h + lane[None, :]
        k = tl.load(at, mask=own[:, None] & (lane < h)[None, :], other=0.0).to(tl.float32)
        q = tl.load(query + instance * query_row + lane, mask=lane < h, other=0.0).to(tl.float32)
        v = tl.load(energy + lane, mask=lane < h, other=0.0).to(tl.float32)
        e = tl.sum(tanh(q[None, :] + k) * v[None, :], 1)  # (ROWS,)
        tl.store(energies + instance * m + row, e, mask=own)


@triton.jit
def _contexts_kernel(
    values,  # IN (b, m, w)
    spans,  # IN int32 (b, n_memories, 2)
    energies,  # IN float32 (b, m)
    totals,  # OUT float32 (b, n_memories)
    contexts,  # OUT (b, n_memories, w)
    contexts_row,
    m,
    w,
    N_MEMORIES: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
):
    instance, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    number, lane = tl.arange(0, ROWS), part * LANES + tl.arange(0, LANES)
    values, energies = values + instance * m * w, energies + instance * m
    within = (lane < w)[None, :]
    for memory in tl.static_range(N_MEMORIES):
        start, stop = span(spans, instance, memory, N_MEMORIES)
        # Each of ROWS has a softmax of its own, and they meet at the end: warps need not wait for
        # each other, nor values for the highest energy.
        highest = tl.full((ROWS,), LOWEST, tl.float32)
        total = tl.zeros((ROWS,), tl.float32)
        mean = tl.zeros((ROWS, LANES), tl.float32)
        row = start + number
        e = tl.load(energies + row, mask=row < stop, other=float("-inf"))
        at = values + row[:, None] * w + lane[None, :]
        some = tl.load(at, mask=(row < stop)[:, None] & within, other=0.0)
        for first in range(start, stop, ROWS):
            row = first + ROWS + number  # on their way while the last are added
            next_e = tl.load(energies + row, mask=row < stop, other=float("-inf"))
            at = values + row[:, None] * w + lane[None, :]
            following = tl.load(at, mask=(row < stop)[:, None] & within, other=0.0)
            higher = tl.maximum(highest, e)
            shrink, weight = tl.exp(highest - higher), tl.exp(e - higher)
            total = total * shrink + weight
            mean = mean * shrink[:, None] + weight[:, None] * some.to(tl.float32)
            highest, e, some = higher, next_e, following
        top = tl.max(highest, 0)
        shrink = tl.exp(highest - top)
        whole = tl.sum(total * shrink, 0)
        if part == 0:
            tl.store(totals + instance * N_MEMORIES + memory, top + tl.log(whole))
        result = tl.sum(mean * shrink[:, None], 0) / whole  # (LANES,)
        out = contexts + instance * contexts_row + memory * w + lane
        tl.store(out, result.to(contexts.dtype.element_ty), mask=lane < w)


@triton.jit
def _to_energies_kernel(
    values,  # IN (b, m, w)
    spans,  # IN int32 (b, n_memories, 2)
    energies,  # IN float32 (b, m)
    totals,  # IN float32 (b, n_memories)
    contexts,  # IN (b, n_memories, w)
    to_contexts,  # IN (b, n_memories, w)
    to_energies,  # OUT float32 (b, m), 0 before: only positions of a memory are written
    contexts_row,
    to_contexts_row,
    m,
    w,
    N_MEMORIES: tl.constexpr,
    ROWS: tl.constexpr,
    W: tl.constexpr,
):
    instance, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    start, stop, second, end = _all_spans(spans, instance, N_MEMORIES)
    # Blocks are counted through all memories: each is of one.
    n_blocks = tl.cdiv(stop - start, ROWS)
    memory = (block >= n_blocks).to(tl.int32)
    first = tl.where(memory == 0, start + block * ROWS, second + (block - n_blocks) * ROWS)
    last = tl.where(memory == 0, stop, end)
    row, lane = first + tl.arange(0, ROWS), tl.arange(0, W)
    if first < last:
        own, place = row < last, memory * w + lane
        at = values + (instance * m + row)[:, None] * w + lane[None, :]
        some = tl.load(at, mask=own[:, None] & (lane < w)[None, :], other=0.0)
        of = tl.load(contexts + instance * contexts_row + place, mask=lane < w, other=0.0)
        given = to_contexts + instance * to_contexts_row + place
        grad = tl.load(given, mask=lane < w, other=0.0).to(tl.float32)
        e = tl.load(energies + instance * m + row, mask=own, other=float("-inf"))
        total = tl.load(totals + instance * N_MEMORIES + memory)
        apart = some.to(tl.float32) - of.to(tl.float32)[None, :]  # (ROWS, W)
        to_weight = tl.sum(apart * grad[None, :], 1)  # (ROWS,): less the mean of all
        tl.store(to_energies + instance * m + row, tl.exp(e - total) * to_weight, mask=own)


@triton.jit
def _to_query_kernel(
    keys,  # IN (b, m, h)
    spans,  # IN int32 (b, n_memories, 2)
    energy,  # IN (h,)
    query,  # IN (b, h)
    to_energies,  # IN float32 (b, m)
    to_query,  # OUT (b, h)
    query_row,
    to_query_row,
    m,
    h,
    N_MEMORIES: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
):
    instance, lane = tl.program_id(0).to(tl.int64), tl.program_id(1) * LANES + tl.arange(0, LANES)
    keys, to_energies, within = keys + instance * m * h, to_energies + instance * m, lane < h
    start, stop, second, end = _all_spans(spans, instance, N_MEMORIES)
    n_first = stop - start
    n_rows = n_first + end - second  # counted through all memories
    slope = tl.zeros((ROWS, LANES), tl.float32)
    number = tl.arange(0, ROWS)
    row = number + tl.where(number < n_first, start, second - n_first)
    to_e = tl.load(to_energies + row, mask=number < n_rows, other=0.0)
    at = keys + row[:, None] * h + lane[None, :]
    k = tl.load(at, mask=(number < n_rows)[:, None] & within[None, :], other=0.0)
    q = tl.load(query + instance * query_row + lane, mask=within, other=0.0).to(tl.float32)
    v = tl.load(energy + lane, mask=within, other=0.0).to(tl.float32)
    for _ in range(0, n_rows, ROWS):
        number += ROWS  # on their way while the last are added
        row = number + tl.where(number < n_first, start, second - n_first)
        next_e = tl.load(to_energies + row, mask=number < n_rows, other=0.0)
        at = keys + row[:, None] * h + lane[None, :]
        following = tl.load(at, mask=(number < n_rows)[:, None] & within[None, :], other=0.0)
        bent = tanh(q[None, :] + k.to(tl.float32))
        slope += to_e[:, None] * (1.0 - bent * bent)
        to_e, k = next_e, following
    out = to_query + instance * to_query_row + lane
    tl.store(out, (tl.sum(slope, 0) * v).to(to_query.dtype.element_ty), mask=within)


@triton.jit
def _keys_kernel(
    keys,  # IN (b, m, h)
    spans,  # IN int32 (b, n_memories, 2)
    energy,  # IN (h,)
    queries,  # IN (N, b, h)
    to_energies,  # IN float32 (N, b, m)
    to_keys,  # OUT (b, m, h)
    to_energy,  # OUT float32 (b, blocks, h), to be summed
    queries_step,
    queries_row,
    n_steps,
    m,
    h,
    N_MEMORIES: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
):
    instance, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    n, first = tl.num_programs(0).to(tl.int64), block * ROWS
    row = first + tl.arange(0, ROWS)
    lane = tl.program_id(2) * LANES + tl.arange(0, LANES)
    inside = (row < m)[:, None] & (lane < h)[None, :]
    cell = (instance * m + row)[:, None] * h + lane[None, :]
    start, stop, second, end = _all_spans(spans, instance, N_MEMORIES)
    last = first + ROWS
    own = ((first < stop) & (last > start)) | ((first < end) & (last > second))
    of_keys = tl.zeros((ROWS, LANES), tl.float32)
    of_energy = tl.zeros((ROWS, LANES), tl.float32)
    if own:  # not so in a block of padding
        k = tl.load(keys + cell, mask=inside, other=0.0).to(tl.float32)
        for t in range(0, n_steps):
            at = to_energies + (t * n + instance) * m + row
            to_e = tl.load(at, mask=row < m, other=0.0)[:, None]  # (ROWS, 1)
            asked = queries + t * queries_step + instance * queries_row + lane
            q = tl.load(asked, mask=lane < h, other=0.0).to(tl.float32)
            bent = tanh(q[None, :] + k)
            of_keys += to_e * (1.0 - bent * bent)
            of_energy += to_e * bent
    v = tl.load(energy + lane, mask=lane < h, other=0.0).to(tl.float32)
    tl.store(to_keys + cell, (of_keys * v[None, :]).to(to_keys.dtype.element_ty), mask=inside)
    out = to_energy + (instance * tl.num_programs(1) + block) * h + lane
    tl.store(out, tl.sum(of_energy, 0), mask=lane < h)


def attend_on_device(to: Attended, query: Tensor, found: Attention, contexts: Tensor) -> None:
    """See `attention_steps.attend`; rows of query and contexts may be apart."""
    n, m, h = to.keys.shape
    n_memories, w = to.spans.shape[1], to.values.shape[2]
    _energies_kernel[(n, triton.cdiv(m, KEYS))](
        to.keys,
        to.spans,
        to.energy,
        query,
        found.energies,
        query.stride(0),
        m,
        h,
        N_MEMORIES=n_memories,
        ROWS=KEYS,
        H=triton.next_power_of_2(h),
        num_warps=2,
    )
    _contexts_kernel[(n, triton.cdiv(w, VALUE_LANES))](
        to.values,
        to.spans,
        *found,
        contexts,
        contexts.stride(0),
        m,
        w,
        N_MEMORIES=n_memories,
        ROWS=POSITIONS,
        LANES=VALUE_LANES,
        num_warps=4,
    )


def attend_backwards_on_device(
    to: Attended,
    query: Tensor,
    found: Attention,
    contexts: tuple[Tensor, Tensor],
    to_energies: Tensor,
    to_query: Tensor,
) -> None:
    """See `multitudes.seq2set.network.attention_steps.attend_backwards`."""
    n, m, h = to.keys.shape
    n_memories, w = to.spans.shape[1], to.values.shape[2]
    _to_energies_kernel[(n, triton.cdiv(m, POSITIONS) + n_memories - 1)](
        to.values,
        to.spans,
        *found,
        *contexts,
        to_energies,
        *(part.stride(0) for part in contexts),
        m,
        w,
        N_MEMORIES=n_memories,
        ROWS=POSITIONS,
        W=triton.next_power_of_2(w),
        num_warps=8,
    )
    _to_query_kernel[(n, triton.cdiv(h, KEY_LANES))](
        to.keys,
        to.spans,
        to.energy,
        query,
        to_energies,
        to_query,
        query.stride(0),
        to_query.stride(0),
        m,
        h,
        N_MEMORIES=n_memories,
        ROWS=POSITIONS,
        LANES=KEY_LANES,
        num_warps=4,
    )


def gradient_of_keys_on_device(
    to: Attended, queries: Tensor, to_energies: Tensor
) -> tuple[Tensor, Tensor]:
    """See `multitudes.seq2set.network.attention_steps.gradient_of_keys`."""
    n_steps, n, m = to_energies.shape
    h = to.keys.shape[2]
    n_blocks = triton.cdiv(m, POSITIONS)
    to_keys = torch.empty_like(to.keys)
    to_energy = to_energies.new_empty((n, n_blocks, h))
    _keys_kernel[(n, n_blocks, triton.cdiv(h, KEY_LANES))](
        to.keys,
        to.spans,
        to.energy,
        queries,
        to_energies,
        to_keys,
        to_energy,
        *queries.stride()[:2],
        n_steps,
        m,
        h,
        N_MEMORIES=to.spans.shape[1],
        ROWS=POSITIONS,
        LANES=KEY_LANES,
        num_warps=2,
    )
    return to_keys, to_energy.sum(dim=(0, 1)).to(to.energy.dtype)
