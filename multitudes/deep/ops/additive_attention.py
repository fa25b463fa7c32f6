"""Additive attention of one decoder step in place, with its gradient written out.

The same as `multitudes.seq2set.network.attention`, for a loop that owns its buffers.
``tanh(q + k)`` of every position is never kept: backwards it is computed again, and the gradient of
keys is summed over all steps in one go.

A step is two kernels each way, split so that thousands of programs run side by side: a text has too
few positions, and a batch too few texts, to keep a device busy with one program for each. What sums
over width is split by positions, what sums over positions by width. Nothing of (b, m, h) is written
but the gradient of keys. Positions of no memory, and so padding, are left out. What takes time is
not reading but waiting for what was read, so that all of a program's reads are on their way at
once, or those of the next positions while these are worked on; and a short second memory adds its
few positions, not programs or a pass of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from multitudes.deep.ops.gru_cell import tanh
from multitudes.deep.ops.switch import jit, runs_kernel, tl, triton

KEYS, POSITIONS = 4, 8  # read together: keys of whole width, and all others
KEY_LANES, VALUE_LANES = 128, 256  # a part of their width


class Attended(NamedTuple):
    """What all steps attend to.

    Parameters
    ----------
    keys : (b, m, h)
    values : (b, m, w)
    spans : int32 (b, n_memories, 2)
        Where each memory, one or two, begins and where it ends: its first position, and the one
        behind its last. Positions outside of all are padding.
    energy : (h,)
        What ``tanh(q + k)`` is multiplied with.
    """

    keys: Tensor
    values: Tensor
    spans: Tensor
    energy: Tensor


class Attention(NamedTuple):
    """What a step found, enough to know its weights; float32 at least.

    Parameters
    ----------
    energies : (b, m)
        0 where a position belongs to no memory.
    totals : (b, n_memories)
        The logarithm of each memory's sum of exponentials.
    """

    energies: Tensor
    totals: Tensor


def attend(to: Attended, query: Tensor, found: Attention, contexts: Tensor) -> None:
    """One step: query IN (b, h), found OUT and 0 before, contexts OUT (b, n_memories * w)."""
    if _takes_kernel(found.energies):
        _launch_attend(to, query, found, contexts)
        return
    kind = found.energies.dtype
    tanh = torch.tanh(query[:, None].to(kind) + to.keys.to(kind))  # (b, m, h)
    bias = bias_of(to.spans, to.keys.shape[1])  # (b, n_memories, m)
    real = (bias == 0).any(dim=1)  # (b, m)
    found.energies.copy_(torch.where(real, tanh @ to.energy.to(kind), 0.0))
    found.totals.copy_((found.energies[:, None] + bias).logsumexp(dim=2))
    weights = weights_of(to.spans, found).to(to.values.dtype)  # (b, n_memories, m)
    contexts.copy_((weights @ to.values).flatten(1))


def attend_backward(
    to: Attended,
    query: Tensor,
    found: Attention,
    contexts: tuple[Tensor, Tensor],
    to_energies: Tensor,
    to_query: Tensor,
) -> None:
    """The gradient of `attend`: of `contexts` IN, and their gradient; both (b, n_memories * w).

    to_energies OUT (b, m), float32 at least and 0 before; to_query OUT (b, h).
    """
    if _takes_kernel(found.energies):
        _launch_attend_backward(to, query, found, contexts, to_energies, to_query)
        return
    kind = to_energies.dtype
    n, n_memories, _ = to.spans.shape
    of, grad = (part.to(kind).reshape(n, n_memories, -1) for part in contexts)
    mean = (of * grad).sum(dim=2, keepdim=True)  # (b, n_memories, 1)
    to_weights = grad @ to.values.to(kind).transpose(1, 2)  # (b, n_memories, m)
    to_energies.copy_((weights_of(to.spans, found) * (to_weights - mean)).sum(dim=1))
    slope = 1 - torch.tanh(query[:, None].to(kind) + to.keys.to(kind)).square()  # (b, m, h)
    to_query.copy_((to_energies[:, None] @ slope)[:, 0] * to.energy)


def gradient_of_keys(to: Attended, queries: Tensor, to_energies: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of keys (b, m, h) and energy (h,), over all steps.

    Takes queries (N, b, h) and to_energies (N, b, m) of `attend_backward`.
    """
    if _takes_kernel(to_energies):
        return _launch_gradient_of_keys(to, queries, to_energies)
    kind = to_energies.dtype
    keys, energy = to.keys.to(kind), to.energy.to(kind)
    to_keys, to_energy = torch.zeros_like(keys), torch.zeros_like(energy)
    for query, grad in zip(queries, to_energies, strict=True):
        tanh = torch.tanh(query[:, None].to(kind) + keys)  # (b, m, h)
        to_keys += grad[:, :, None] * (1 - tanh.square())  # (b, m, h)
        to_energy += (grad[:, :, None] * tanh).sum(dim=(0, 1))  # (h,)
    return (to_keys * energy).to(to.keys.dtype), to_energy.to(to.energy.dtype)


def gradient_of_values(spans: Tensor, found: Attention, to_contexts: Tensor) -> Tensor:
    """Gradient (b, m, w) of values, over all steps, in one product.

    Takes spans (b, n_memories, 2), found (N, b, ...), to_contexts (N, b, n_memories * w).
    """
    n_steps, n, n_memories = found.totals.shape
    weights = weights_of(spans, found).to(to_contexts.dtype)  # (N, b, n_memories, m)
    weights = weights.permute(1, 3, 0, 2).reshape(n, -1, n_steps * n_memories)  # (b, m, N M)
    grads = to_contexts.transpose(0, 1).reshape(n, n_steps * n_memories, -1)  # (b, N M, w)
    return weights @ grads


def spans_of(bias: Tensor) -> Tensor:
    """Spans int32 (b, n_memories, 2) of memories whose positions are 0 in bias (b, n_memories, m).

    The positions of each lie side by side.
    """
    own = (bias == 0).int()  # (b, n_memories, m)
    behind = torch.arange(1, bias.shape[2] + 1, dtype=torch.int32, device=bias.device)  # (m,)
    stop = (own * behind).amax(dim=2)  # (b, n_memories)
    return torch.stack([stop - own.sum(dim=2, dtype=torch.int32), stop], dim=2)


def bias_of(spans: Tensor, m: int) -> Tensor:
    """Bias (b, n_memories, m) of spans (b, n_memories, 2): 0 within, -inf elsewhere."""
    position = torch.arange(m, device=spans.device)  # (m,)
    return ((position >= spans[..., :1]) & (position < spans[..., 1:])).log()


def weights_of(spans: Tensor, found: Attention) -> Tensor:
    """Weights (..., b, n_memories, m) of each position."""
    bias = bias_of(spans, found.energies.shape[-1])  # (b, n_memories, m)
    return torch.exp(found.energies[..., None, :] + bias - found.totals[..., None])


def _takes_kernel(like: Tensor) -> bool:
    return like.dtype == torch.float32 and runs_kernel("additive_attention", like.device)


# -------------------------------------------------------------------- kernels


@jit()
def _span(spans, instance, MEMORY: tl.constexpr, N_MEMORIES: tl.constexpr):
    """A memory's first position in a text, and the one behind its last."""
    at = spans + (instance * N_MEMORIES + MEMORY) * 2
    return tl.load(at), tl.load(at + 1)


@jit()
def _all_spans(spans, instance, N_MEMORIES: tl.constexpr):
    """Both memories' spans; where there is but one, the other is empty: from 0 to 0."""
    tl.static_assert(N_MEMORIES <= 2)
    start, stop = _span(spans, instance, 0, N_MEMORIES)
    second, end = start * 0, start * 0
    if N_MEMORIES == 2:
        second, end = _span(spans, instance, 1, N_MEMORIES)
    return start, stop, second, end


@jit()
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


@jit()
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
        start, stop = _span(spans, instance, memory, N_MEMORIES)
        # Each of ROWS has a softmax of its own, and they meet at the end: warps need not wait for
        # each other, nor values for the highest energy.
        # Not -inf: its difference to itself is not a number.
        highest = tl.full((ROWS,), -1e38, tl.float32)
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


@jit()
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


@jit()
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


@jit()
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


def _launch_attend(to: Attended, query: Tensor, found: Attention, contexts: Tensor) -> None:
    """Rows of query and contexts may be apart."""
    n, m, h = to.keys.shape
    n_memories, w = to.spans.shape[1], to.values.shape[2]
    _energies_kernel[(n, triton.cdiv(m, KEYS))](
        to.keys, to.spans, to.energy, query, found.energies, query.stride(0), m, h,
        N_MEMORIES=n_memories, ROWS=KEYS, H=triton.next_power_of_2(h), num_warps=2,
    )  # fmt: skip
    _contexts_kernel[(n, triton.cdiv(w, VALUE_LANES))](
        to.values, to.spans, *found, contexts, contexts.stride(0), m, w, N_MEMORIES=n_memories,
        ROWS=POSITIONS, LANES=VALUE_LANES, num_warps=4,
    )  # fmt: skip


def _launch_attend_backward(
    to: Attended,
    query: Tensor,
    found: Attention,
    contexts: tuple[Tensor, Tensor],
    to_energies: Tensor,
    to_query: Tensor,
) -> None:
    n, m, h = to.keys.shape
    n_memories, w = to.spans.shape[1], to.values.shape[2]
    _to_energies_kernel[(n, triton.cdiv(m, POSITIONS) + n_memories - 1)](
        to.values, to.spans, *found, *contexts, to_energies,
        *(part.stride(0) for part in contexts), m, w, N_MEMORIES=n_memories, ROWS=POSITIONS,
        W=triton.next_power_of_2(w), num_warps=8,
    )  # fmt: skip
    _to_query_kernel[(n, triton.cdiv(h, KEY_LANES))](
        to.keys, to.spans, to.energy, query, to_energies, to_query, query.stride(0),
        to_query.stride(0), m, h, N_MEMORIES=n_memories, ROWS=POSITIONS, LANES=KEY_LANES,
        num_warps=4,
    )  # fmt: skip


def _launch_gradient_of_keys(
    to: Attended, queries: Tensor, to_energies: Tensor
) -> tuple[Tensor, Tensor]:
    n_steps, n, m = to_energies.shape
    h = to.keys.shape[2]
    n_blocks = triton.cdiv(m, POSITIONS)
    to_keys = torch.empty_like(to.keys)
    to_energy = to_energies.new_empty((n, n_blocks, h))
    _keys_kernel[(n, n_blocks, triton.cdiv(h, KEY_LANES))](
        to.keys, to.spans, to.energy, queries, to_energies, to_keys, to_energy,
        *queries.stride()[:2], n_steps, m, h, N_MEMORIES=to.spans.shape[1], ROWS=POSITIONS,
        LANES=KEY_LANES, num_warps=2,
    )  # fmt: skip
    return to_keys, to_energy.sum(dim=(0, 1)).to(to.energy.dtype)
