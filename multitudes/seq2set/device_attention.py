"""Additive attention on CUDA through Triton; see `multitudes.seq2set.attention_steps`.

A step is two kernels each way, split so that thousands of programs run side by side: a text has too
few positions, and a batch too few texts, to keep a device busy with one program for each. What sums
over width is split by positions, what sums over positions by width. Nothing of (b, m, h) is written
but the gradient of keys. Positions of no memory, and so padding, are left out.
"""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
# mypy: disallow-untyped-decorators=False, disallow-untyped-calls=False, check-untyped-defs=False

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from multitudes.seq2set.attention_steps import Attended, Attention
from multitudes.seq2set.device_cell import tanh

FEW, MANY = 8, 16  # positions read together, of whole width and of a part of it
KEY_LANES, VALUE_LANES = 128, 256  # such a part


@triton.jit
def _rows(matrix, first, n_rows, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Rows `first` onwards of a matrix (n_rows, width), in float32, 0 outside of it."""
    row, lane = first + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    inside = (row < n_rows)[:, None] & (lane < width)[None, :]
    return tl.load(matrix + row[:, None] * width + lane[None, :], mask=inside, other=0.0).to(
        tl.float32
    )


@triton.jit
def _in_a_memory(bias, instance, row, m, n_memories):
    """Which positions belong to any memory; others are padding."""
    some = row < 0
    for memory in range(0, n_memories):
        at = bias + (instance * n_memories + memory) * m + row
        some = some | (tl.load(at, mask=row < m, other=float("-inf")) == 0.0)
    return some


@triton.jit
def _energies_kernel(
    keys,  # IN (b, m, h)
    bias,  # IN float32 (b, n_memories, m)
    energy,  # IN (h,)
    query,  # IN (b, h)
    energies,  # OUT float32 (b, m), 0 before: only positions of a memory are written
    query_row,
    m,
    h,
    n_memories,
    ROWS: tl.constexpr,
    H: tl.constexpr,
):
    instance, first = tl.program_id(0).to(tl.int64), tl.program_id(1) * ROWS
    row, lane = first + tl.arange(0, ROWS), tl.arange(0, H)
    own = _in_a_memory(bias, instance, row, m, n_memories)
    if tl.max(own.to(tl.int32), 0) > 0:
        q = tl.load(query + instance * query_row + lane, mask=lane < h, other=0.0).to(tl.float32)
        v = tl.load(energy + lane, mask=lane < h, other=0.0).to(tl.float32)
        k = _rows(keys + instance * m * h, first, m, h, ROWS, H)
        e = tl.sum(tanh(q[None, :] + k) * v[None, :], 1)  # (ROWS,)
        tl.store(energies + instance * m + row, e, mask=own)


@triton.jit
def _contexts_kernel(
    values,  # IN (b, m, w)
    bias,  # IN float32 (b, n_memories, m)
    energies,  # IN float32 (b, m)
    totals,  # OUT float32 (b, n_memories)
    contexts,  # OUT (b, n_memories, w)
    contexts_row,
    m,
    w,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    M: tl.constexpr,
):
    instance, memory, part = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    n_memories = tl.num_programs(1)
    at_bias, at_energy = bias + (instance * n_memories + memory) * m, energies + instance * m
    position, lane = tl.arange(0, M), part * LANES + tl.arange(0, LANES)
    own = tl.load(at_bias + position, mask=position < m, other=float("-inf")) == 0.0
    e = tl.load(at_energy + position, mask=own, other=float("-inf"))
    highest = tl.max(e, 0)
    total = tl.sum(tl.exp(e - highest), 0)
    mean = tl.zeros((ROWS, LANES), tl.float32)  # summed at the end: programs' warps need not meet
    # From the memory's first position to its last.
    start, stop = tl.min(tl.where(own, position, M), 0), tl.max(tl.where(own, position + 1, 0), 0)
    for first in range(start, stop, ROWS):
        row = first + tl.arange(0, ROWS)
        there = tl.load(at_bias + row, mask=row < m, other=float("-inf")) == 0.0
        weight = tl.exp(tl.load(at_energy + row, mask=there, other=float("-inf")) - highest)
        at = values + (instance * m + row)[:, None] * w + lane[None, :]
        some = tl.load(at, mask=there[:, None] & (lane < w)[None, :], other=0.0).to(tl.float32)
        mean += weight[:, None] * some
    if part == 0:
        tl.store(totals + instance * n_memories + memory, highest + tl.log(total))
    out = contexts + instance * contexts_row + memory * w + lane
    tl.store(out, (tl.sum(mean, 0) / total).to(contexts.dtype.element_ty), mask=lane < w)


@triton.jit
def _to_energies_kernel(
    values,  # IN (b, m, w)
    bias,  # IN float32 (b, n_memories, m)
    energies,  # IN float32 (b, m)
    totals,  # IN float32 (b, n_memories)
    contexts,  # IN (b, n_memories, w)
    to_contexts,  # IN (b, n_memories, w)
    to_energies,  # OUT float32 (b, m), 0 before: only positions of a memory are written
    contexts_row,
    to_contexts_row,
    m,
    w,
    n_memories,
    ROWS: tl.constexpr,
    W: tl.constexpr,
):
    instance, first = tl.program_id(0).to(tl.int64), tl.program_id(1) * ROWS
    row, lane = first + tl.arange(0, ROWS), tl.arange(0, W)
    for memory in range(0, n_memories):
        at = bias + (instance * n_memories + memory) * m + row
        own = tl.load(at, mask=row < m, other=float("-inf")) == 0.0
        if tl.max(own.to(tl.int32), 0) > 0:
            place = memory * w + lane
            of = tl.load(contexts + instance * contexts_row + place, mask=lane < w, other=0.0)
            given = to_contexts + instance * to_contexts_row + place
            grad = tl.load(given, mask=lane < w, other=0.0).to(tl.float32)
            mean = tl.sum(of.to(tl.float32) * grad, 0)
            some = _rows(values + instance * m * w, first, m, w, ROWS, W)
            to_weight = tl.sum(some * grad[None, :], 1)  # (ROWS,)
            e = tl.load(energies + instance * m + row, mask=own, other=float("-inf"))
            weight = tl.exp(e - tl.load(totals + instance * n_memories + memory))
            tl.store(to_energies + instance * m + row, weight * (to_weight - mean), mask=own)


@triton.jit
def _to_query_kernel(
    keys,  # IN (b, m, h)
    energy,  # IN (h,)
    query,  # IN (b, h)
    to_energies,  # IN float32 (b, m)
    to_query,  # OUT (b, h)
    query_row,
    to_query_row,
    m,
    h,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
):
    instance, lane = tl.program_id(0).to(tl.int64), tl.program_id(1) * LANES + tl.arange(0, LANES)
    q = tl.load(query + instance * query_row + lane, mask=lane < h, other=0.0).to(tl.float32)
    v = tl.load(energy + lane, mask=lane < h, other=0.0).to(tl.float32)
    slope = tl.zeros((ROWS, LANES), tl.float32)
    for first in range(0, m, ROWS):
        row = first + tl.arange(0, ROWS)
        to_e = tl.load(to_energies + instance * m + row, mask=row < m, other=0.0)
        there = to_e != 0.0  # not so at padding
        if tl.max(there.to(tl.int32), 0) > 0:
            at = keys + (instance * m + row)[:, None] * h + lane[None, :]
            k = tl.load(at, mask=there[:, None] & (lane < h)[None, :], other=0.0).to(tl.float32)
            bent = tanh(q[None, :] + k)
            slope += to_e[:, None] * (1.0 - bent * bent)
    out = to_query + instance * to_query_row + lane
    tl.store(out, (tl.sum(slope, 0) * v).to(to_query.dtype.element_ty), mask=lane < h)


@triton.jit
def _keys_kernel(
    keys,  # IN (b, m, h)
    bias,  # IN float32 (b, n_memories, m)
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
    n_memories,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
):
    instance, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    n, first = tl.num_programs(0).to(tl.int64), block * ROWS
    row = first + tl.arange(0, ROWS)
    lane = tl.program_id(2) * LANES + tl.arange(0, LANES)
    inside = (row < m)[:, None] & (lane < h)[None, :]
    cell = (instance * m + row)[:, None] * h + lane[None, :]
    own = _in_a_memory(bias, instance, row, m, n_memories)
    of_keys = tl.zeros((ROWS, LANES), tl.float32)
    of_energy = tl.zeros((ROWS, LANES), tl.float32)
    if tl.max(own.to(tl.int32), 0) > 0:
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
    """See `multitudes.seq2set.attention_steps.attend`; rows of query and contexts may be apart."""
    n, n_memories, m = to.bias.shape
    h, w = to.keys.shape[2], to.values.shape[2]
    _energies_kernel[(n, triton.cdiv(m, FEW))](
        to.keys,
        to.bias,
        to.energy,
        query,
        found.energies,
        query.stride(0),
        m,
        h,
        n_memories,
        ROWS=FEW,
        H=triton.next_power_of_2(h),
        num_warps=4,
    )
    _contexts_kernel[(n, n_memories, triton.cdiv(w, VALUE_LANES))](
        to.values,
        to.bias,
        *found,
        contexts,
        contexts.stride(0),
        m,
        w,
        ROWS=MANY,
        LANES=VALUE_LANES,
        M=triton.next_power_of_2(m),
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
    """See `multitudes.seq2set.attention_steps.attend_backwards`."""
    n, n_memories, m = to.bias.shape
    h, w = to.keys.shape[2], to.values.shape[2]
    _to_energies_kernel[(n, triton.cdiv(m, FEW))](
        to.values,
        to.bias,
        *found,
        *contexts,
        to_energies,
        *(part.stride(0) for part in contexts),
        m,
        w,
        n_memories,
        ROWS=FEW,
        W=triton.next_power_of_2(w),
        num_warps=8,
    )
    _to_query_kernel[(n, triton.cdiv(h, KEY_LANES))](
        to.keys,
        to.energy,
        query,
        to_energies,
        to_query,
        query.stride(0),
        to_query.stride(0),
        m,
        h,
        ROWS=MANY,
        LANES=KEY_LANES,
        num_warps=4,
    )


def gradient_of_keys_on_device(
    to: Attended, queries: Tensor, to_energies: Tensor
) -> tuple[Tensor, Tensor]:
    """See `multitudes.seq2set.attention_steps.gradient_of_keys`."""
    n_steps, n, m = to_energies.shape
    h = to.keys.shape[2]
    n_blocks = triton.cdiv(m, FEW)
    to_keys = torch.empty_like(to.keys)
    to_energy = to_energies.new_empty((n, n_blocks, h))
    _keys_kernel[(n, n_blocks, triton.cdiv(h, KEY_LANES))](
        to.keys,
        to.bias,
        to.energy,
        queries,
        to_energies,
        to_keys,
        to_energy,
        *queries.stride()[:2],
        n_steps,
        m,
        h,
        to.bias.shape[1],
        ROWS=FEW,
        LANES=KEY_LANES,
        num_warps=2,
    )
    return to_keys, to_energy.sum(dim=(0, 1)).to(to.energy.dtype)
