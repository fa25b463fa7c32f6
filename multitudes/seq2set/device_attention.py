"""Additive attention on CUDA through Triton; see `multitudes.seq2set.attention_steps`.

Positions are read some at a time, with a running softmax, so that nothing of (b, m, h) is written
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

POSITIONS = 8  # read together: as many rows of values as fit in registers


@triton.jit
def _rows(matrix, first, n_rows, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Rows `first` onwards of a matrix (n_rows, width), in float32, 0 outside of it."""
    row, lane = first + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    inside = (row < n_rows)[:, None] & (lane < width)[None, :]
    return tl.load(matrix + row[:, None] * width + lane[None, :], mask=inside, other=0.0).to(
        tl.float32
    )


@triton.jit
def _attend_kernel(
    keys,  # IN (b, m, h)
    values,  # IN (b, m, w)
    bias,  # IN float32 (b, n_memories, m)
    energy,  # IN (h,)
    query,  # IN (b, h)
    energies,  # OUT float32 (b, m), 0 before: only positions of a memory are written
    totals,  # OUT float32 (b, n_memories)
    contexts,  # OUT (b, n_memories, w)
    query_row,
    contexts_row,
    m,
    h,
    w,
    ROWS: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
):
    instance, memory = tl.program_id(0).to(tl.int64), tl.program_id(1)
    n_memories = tl.num_programs(1)
    key_lane, value_lane = tl.arange(0, H), tl.arange(0, W)
    q = tl.load(query + instance * query_row + key_lane, mask=key_lane < h, other=0.0)
    q = q.to(tl.float32)[None, :]
    v = tl.load(energy + key_lane, mask=key_lane < h, other=0.0).to(tl.float32)[None, :]
    highest = tl.full((), float("-inf"), tl.float32)
    total = tl.zeros((), tl.float32)
    mean = tl.zeros((W,), tl.float32)
    for first in range(0, m, ROWS):
        row = first + tl.arange(0, ROWS)
        at = bias + (instance * n_memories + memory) * m + row
        own = tl.load(at, mask=row < m, other=float("-inf")) == 0.0
        if tl.max(own.to(tl.int32), 0) > 0:
            k = _rows(keys + instance * m * h, first, m, h, ROWS, H)
            e = tl.sum(tanh(q + k) * v, 1)  # (ROWS,)
            tl.store(energies + instance * m + row, e, mask=own)
            e = tl.where(own, e, float("-inf"))
            before = highest
            highest = tl.maximum(highest, tl.max(e, 0))
            shrink = tl.exp(before - highest)
            unscaled = tl.exp(e - highest)
            part = _rows(values + instance * m * w, first, m, w, ROWS, W)
            mean = mean * shrink + tl.sum(unscaled[:, None] * part, 0)
            total = total * shrink + tl.sum(unscaled, 0)
    tl.store(totals + instance * n_memories + memory, highest + tl.log(total))
    out = contexts + instance * contexts_row + memory * w + value_lane
    tl.store(out, (mean / total).to(contexts.dtype.element_ty), mask=value_lane < w)


@triton.jit
def _attend_backwards_kernel(
    keys,  # IN (b, m, h)
    values,  # IN (b, m, w)
    bias,  # IN float32 (b, n_memories, m)
    energy,  # IN (h,)
    query,  # IN (b, h)
    energies,  # IN float32 (b, m)
    totals,  # IN float32 (b, n_memories)
    contexts,  # IN (b, n_memories, w)
    to_contexts,  # IN (b, n_memories, w)
    to_energies,  # OUT float32 (b, m), 0 before: only positions of a memory are written
    to_query,  # OUT (b, h)
    query_row,
    contexts_row,
    to_contexts_row,
    to_query_row,
    m,
    h,
    w,
    n_memories,
    ROWS: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
):
    instance = tl.program_id(0).to(tl.int64)
    key_lane, value_lane = tl.arange(0, H), tl.arange(0, W)
    inside = value_lane < w
    q = tl.load(query + instance * query_row + key_lane, mask=key_lane < h, other=0.0)
    q = q.to(tl.float32)[None, :]
    v = tl.load(energy + key_lane, mask=key_lane < h, other=0.0).to(tl.float32)
    slope = tl.zeros((H,), tl.float32)
    for memory in range(0, n_memories):
        place = memory * w + value_lane
        of = tl.load(contexts + instance * contexts_row + place, mask=inside, other=0.0)
        grad = tl.load(to_contexts + instance * to_contexts_row + place, mask=inside, other=0.0)
        grad = grad.to(tl.float32)
        mean = tl.sum(of.to(tl.float32) * grad, 0)
        total = tl.load(totals + instance * n_memories + memory)
        for first in range(0, m, ROWS):
            row = first + tl.arange(0, ROWS)
            at = bias + (instance * n_memories + memory) * m + row
            own = tl.load(at, mask=row < m, other=float("-inf")) == 0.0
            if tl.max(own.to(tl.int32), 0) > 0:
                part = _rows(values + instance * m * w, first, m, w, ROWS, W)
                to_weight = tl.sum(part * grad[None, :], 1)  # (ROWS,)
                e = tl.load(energies + instance * m + row, mask=own, other=float("-inf"))
                to_e = tl.exp(e - total) * (to_weight - mean)  # (ROWS,)
                tl.store(to_energies + instance * m + row, to_e, mask=own)
                to_e = tl.where(own, to_e, 0.0)
                bent = tanh(q + _rows(keys + instance * m * h, first, m, h, ROWS, H))
                slope += tl.sum(to_e[:, None] * (1.0 - bent * bent), 0)
    out = to_query + instance * to_query_row + key_lane
    tl.store(out, (slope * v).to(to_query.dtype.element_ty), mask=key_lane < h)


@triton.jit
def _keys_kernel(
    keys,  # IN (b, m, h)
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
    ROWS: tl.constexpr,
    H: tl.constexpr,
):
    instance, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    n, first = tl.num_programs(0).to(tl.int64), block * ROWS
    row, lane = first + tl.arange(0, ROWS), tl.arange(0, H)
    v = tl.load(energy + lane, mask=lane < h, other=0.0).to(tl.float32)
    k = _rows(keys + instance * m * h, first, m, h, ROWS, H)
    of_keys = tl.zeros((ROWS, H), tl.float32)
    of_energy = tl.zeros((H,), tl.float32)
    for t in range(0, n_steps):
        at = to_energies + (t * n + instance) * m + row
        to_e = tl.load(at, mask=row < m, other=0.0)[:, None]  # (ROWS, 1)
        q = tl.load(
            queries + t * queries_step + instance * queries_row + lane, mask=lane < h, other=0.0
        )
        bent = tanh(q.to(tl.float32)[None, :] + k)
        of_keys += to_e * (1.0 - bent * bent)
        of_energy += tl.sum(to_e * bent, 0)
    inside = (row < m)[:, None] & (lane < h)[None, :]
    out = to_keys + instance * m * h + row[:, None] * h + lane[None, :]
    tl.store(out, (of_keys * v[None, :]).to(to_keys.dtype.element_ty), mask=inside)
    out = to_energy + (instance * tl.num_programs(1) + block) * h + lane
    tl.store(out, of_energy, mask=lane < h)


def attend_on_device(to: Attended, query: Tensor, found: Attention, contexts: Tensor) -> None:
    """See `multitudes.seq2set.attention_steps.attend`; rows of query and contexts may be apart."""
    n, n_memories, m = to.bias.shape
    _attend_kernel[(n, n_memories)](
        to.keys,
        to.values,
        to.bias,
        to.energy,
        query,
        *found,
        contexts,
        query.stride(0),
        contexts.stride(0),
        m,
        to.keys.shape[2],
        to.values.shape[2],
        **_sizes(to),
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
    _attend_backwards_kernel[(n,)](
        to.keys,
        to.values,
        to.bias,
        to.energy,
        query,
        *found,
        *contexts,
        to_energies,
        to_query,
        query.stride(0),
        *(part.stride(0) for part in contexts),
        to_query.stride(0),
        m,
        to.keys.shape[2],
        to.values.shape[2],
        n_memories,
        **_sizes(to),
    )


def gradient_of_keys_on_device(
    to: Attended, queries: Tensor, to_energies: Tensor
) -> tuple[Tensor, Tensor]:
    """See `multitudes.seq2set.attention_steps.gradient_of_keys`."""
    n_steps, n, m = to_energies.shape
    h = to.keys.shape[2]
    n_blocks = triton.cdiv(m, POSITIONS)
    to_keys = torch.empty_like(to.keys)
    to_energy = to_energies.new_empty((n, n_blocks, h))
    _keys_kernel[(n, n_blocks)](
        to.keys,
        to.energy,
        queries,
        to_energies,
        to_keys,
        to_energy,
        *queries.stride()[:2],
        n_steps,
        m,
        h,
        ROWS=POSITIONS,
        H=triton.next_power_of_2(h),
        num_warps=4,
    )
    return to_keys, to_energy.sum(dim=(0, 1)).to(to.energy.dtype)


def _sizes(to: Attended) -> dict[str, int]:
    return {
        "ROWS": POSITIONS,
        "H": triton.next_power_of_2(to.keys.shape[2]),
        "W": triton.next_power_of_2(to.values.shape[2]),
        "num_warps": 8,
    }
