"""The gradient of attention's values on CUDA through Triton; see `attention_steps`.

For each text it is a product over all steps, of weights that are computed on the way. Weights and
gradients are read where they are: transposed copies, as a batched product wants them, would take
longer than the product.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from multitudes.deep.ops.attention import span
from multitudes.seq2set.network.attention_steps import Attention

POSITIONS, STEPS, LANES = 16, 32, 128


@triton.jit
def _values_kernel(
    spans,  # IN int32 (b, n_memories, 2)
    energies,  # IN float32 (N, b, m)
    totals,  # IN float32 (N, b, n_memories)
    to_contexts,  # IN (N, b, n_memories, w)
    to_values,  # OUT (b, m, w)
    to_contexts_step,
    to_contexts_row,
    n_steps,
    m,
    w,
    N_MEMORIES: tl.constexpr,
    ROWS: tl.constexpr,
    STEPS: tl.constexpr,
    LANES: tl.constexpr,
):
    instance, from_row = tl.program_id(0).to(tl.int64), tl.program_id(1) * ROWS
    row = from_row + tl.arange(0, ROWS)
    n, lane = tl.num_programs(0).to(tl.int64), tl.program_id(2) * LANES + tl.arange(0, LANES)
    kind = to_contexts.dtype.element_ty
    total = tl.zeros((ROWS, LANES), tl.float32)
    for memory in tl.static_range(N_MEMORIES):
        start, stop = span(spans, instance, memory, N_MEMORIES)
        own = (row >= start) & (row < stop)
        if (from_row < stop) & (from_row + ROWS > start):  # not so in a block of padding
            for first in range(0, n_steps, STEPS):
                step = (first + tl.arange(0, STEPS)).to(tl.int64)
                there = step < n_steps
                place = (step * n + instance)[None, :] * m + row[:, None]
                mask = own[:, None] & there[None, :]
                e = tl.load(energies + place, mask=mask, other=float("-inf"))  # (ROWS, STEPS)
                sums = totals + (step * n + instance) * N_MEMORIES + memory
                weight = tl.exp(e - tl.load(sums, mask=there, other=0.0)[None, :]).to(kind)
                given = step * to_contexts_step + instance * to_contexts_row + memory * w
                place = given[:, None] + lane[None, :]
                mask = there[:, None] & (lane < w)[None, :]
                grad = tl.load(to_contexts + place, mask=mask, other=0.0)  # (STEPS, LANES)
                total += tl.dot(weight, grad, input_precision="ieee")
    place = (instance * m + row)[:, None] * w + lane[None, :]
    inside = (row < m)[:, None] & (lane < w)[None, :]
    tl.store(to_values + place, total.to(to_values.dtype.element_ty), mask=inside)


def gradient_of_values_on_device(spans: Tensor, found: Attention, to_contexts: Tensor) -> Tensor:
    """See `multitudes.seq2set.network.attention_steps.gradient_of_values`; rows may be apart."""
    (n, n_memories, _), m = spans.shape, found.energies.shape[2]
    w = to_contexts.shape[2] // n_memories
    to_values = to_contexts.new_empty((n, m, w))
    _values_kernel[(n, triton.cdiv(m, POSITIONS), triton.cdiv(w, LANES))](
        spans,
        *found,
        to_contexts,
        to_values,
        *to_contexts.stride()[:2],
        len(to_contexts),
        m,
        w,
        N_MEMORIES=n_memories,
        ROWS=POSITIONS,
        STEPS=STEPS,
        LANES=LANES,
        num_warps=4,
        num_stages=1,  # most often there is one product, and nothing to overlap
    )
    return to_values
