"""The embeddings of a BERT encoder in one kernel, forwards and backwards, through Triton.

A token's sum of embeddings is never kept: the tables are small enough to be near the processors,
and it is summed again in the backward pass. The plain twin is `packed_bert.plain_embedding`.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.norm import norm_slope, row_tile, store_parts
from multitudes.deep.ops.random import Draw, kept
from multitudes.deep.texts.tokens import PackedTokens

PROGRAMS = 1584  # of the backward pass: as many as fit on an H100 at once, by their registers
VARYING = ("n_tokens", "place")


@triton.jit
def _sum_of_embeddings(ids, positions, words, places, types, token, column, D: tl.constexpr):
    """The three embeddings (WIDTH,) of a token, added up; zero past the last column."""
    real = column < D
    word = words + tl.load(ids + token).to(tl.int64) * D
    spot = places + tl.load(positions + token).to(tl.int64) * D
    x = tl.load(word + column, mask=real, other=0.0).to(tl.float32)
    x += tl.load(spot + column, mask=real, other=0.0).to(tl.float32)
    return x + tl.load(types + column, mask=real, other=0.0).to(tl.float32)


@triton.jit(do_not_specialize=VARYING)
def _forward_kernel(
    ids,  # IN int64 (n_tokens,)
    positions,  # IN int64 (n_tokens,)
    words,  # IN (vocabulary, D)
    places,  # IN (longest, D)
    types,  # IN (at least 1, D): all tokens are of the first
    weight,  # IN (D,), of the norm
    bias,  # IN (D,)
    seeds,  # IN int64 (at least place + 1,)
    out,  # OUT (n_tokens, D)
    moments,  # OUT float32 (2, n_tokens)
    n_tokens,
    place,
    epsilon,
    p,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    token = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    real = column < D
    x = _sum_of_embeddings(ids, positions, words, places, types, token, column, D)
    mean = tl.sum(x, 0) / D
    centered = tl.where(real, x - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centered * centered, 0) / D + epsilon)
    tl.store(moments + token, mean)
    tl.store(moments + n_tokens + token, scale)
    w = tl.load(weight + column, mask=real, other=0.0).to(tl.float32)
    b = tl.load(bias + column, mask=real, other=0.0).to(tl.float32)
    y = centered * scale * w + b
    start = tl.cast(token, tl.int64) * D
    if DROPOUT:
        cell = start.to(tl.uint32) + column.to(tl.uint32)
        y = tl.where(
            kept(tl.load(seeds + place).to(tl.uint32), cell, p), y * (1.0 / (1.0 - p)), 0.0
        )
    tl.store(out + start + column, y.to(out.dtype.element_ty), mask=real)


@triton.jit(do_not_specialize=VARYING)
def _backward_kernel(
    grad,  # IN (n_tokens, D)
    ids,  # IN int64 (n_tokens,)
    positions,  # IN int64 (n_tokens,)
    words,  # IN (vocabulary, D)
    places,  # IN (longest, D)
    types,  # IN (at least 1, D)
    weight,  # IN (D,)
    moments,  # IN float32 (2, n_tokens)
    seeds,  # IN int64 (at least place + 1,)
    to_sum,  # OUT (n_tokens, D), of a token's sum of embeddings
    sums,  # OUT float32 (programs, 3, D): a part from each; of `to_sum`, weight, bias
    n_tokens,
    place,
    p,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    program, n_programs = tl.program_id(0), tl.num_programs(0)
    column = tl.arange(0, WIDTH)
    real = column < D
    w = tl.load(weight + column, mask=real, other=0.0).to(tl.float32)
    key = tl.load(seeds + place).to(tl.uint32)
    of_sum = tl.zeros((WIDTH,), tl.float32)
    of_weight = tl.zeros((WIDTH,), tl.float32)
    of_bias = tl.zeros((WIDTH,), tl.float32)
    for token in range(program, n_tokens, n_programs):
        start = tl.cast(token, tl.int64) * D
        g = tl.load(grad + start + column, mask=real, other=0.0).to(tl.float32)
        x = _sum_of_embeddings(ids, positions, words, places, types, token, column, D)
        if DROPOUT:
            cell = start.to(tl.uint32) + column.to(tl.uint32)
            g = tl.where(kept(key, cell, p), g * (1.0 / (1.0 - p)), 0.0)
        scale = tl.load(moments + n_tokens + token)
        normal = (x - tl.load(moments + token)) * scale
        of_weight += g * normal
        of_bias += g
        g = norm_slope(g * w, normal, scale, D)
        tl.store(to_sum + start + column, g.to(to_sum.dtype.element_ty), mask=real)
        of_sum += g
    store_parts(sums, program, of_sum, of_weight, of_bias, column, D)


class _Embedding(Function):
    """See `device_embedding`."""

    @staticmethod
    def forward(
        ctx: Any, packed: PackedTokens, kind: torch.dtype, epsilon: float, draw: Draw, padding: int,
        words: Tensor, places: Tensor, types: Tensor, weight: Tensor, bias: Tensor,
    ) -> Tensor:  # fmt: skip
        (n_tokens,), dim = packed.ids.shape, words.shape[1]
        out = torch.empty((n_tokens, dim), dtype=kind, device=words.device)
        moments = torch.empty((2, n_tokens), dtype=torch.float32, device=words.device)
        if n_tokens:
            _forward_kernel[(n_tokens,)](
                packed.ids, packed.positions, words, places, types, weight, bias, draw.seeds,
                out, moments, n_tokens, draw.place, epsilon, draw.p,
                **row_tile(dim), DROPOUT=draw.p > 0,
            )  # fmt: skip
        ctx.save_for_backward(packed.ids, packed.positions, words, places, types, weight, moments)
        ctx.draw, ctx.padding = draw, padding
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        ids, positions, words, places, types, weight, moments = ctx.saved_tensors
        (n_tokens,), dim, draw = ids.shape, words.shape[1], ctx.draw
        to_sum = torch.empty((n_tokens, dim), dtype=words.dtype, device=words.device)
        n_programs = max(1, min(PROGRAMS, n_tokens))
        parts = torch.empty((n_programs, 3, dim), dtype=torch.float32, device=words.device)
        _backward_kernel[(n_programs,)](
            grads[0].contiguous(), ids, positions, words, places, types, weight, moments,
            draw.seeds, to_sum, parts, n_tokens, draw.place, draw.p,
            **row_tile(dim), DROPOUT=draw.p > 0,
        )  # fmt: skip
        of_type, of_weight, of_bias = parts.sum(0).to(weight.dtype).unbind()
        to_types = torch.zeros_like(types)
        to_types[0] = of_type
        table = torch.ops.aten.embedding_dense_backward
        to_words = table(to_sum, ids, len(words), ctx.padding, False)
        to_places = table(to_sum, positions, len(places), -1, False)
        none = (None,) * 5
        return *none, to_words, to_places, to_types, of_weight, of_bias


def device_embedding(
    embeddings: Any, packed: PackedTokens, *, kind: torch.dtype, epsilon: float, draw: Draw
) -> Tensor:
    """Token states (n_tokens, d) in a type to compute in: embedded, normalized, dropped.

    `embeddings` is the transformers module.
    """
    padding = embeddings.word_embeddings.padding_idx
    norm = embeddings.LayerNorm
    states: Tensor = _Embedding.apply(
        packed, kind, epsilon, draw, -1 if padding is None else padding,
        embeddings.word_embeddings.weight, embeddings.position_embeddings.weight,
        embeddings.token_type_embeddings.weight, norm.weight, norm.bias,
    )  # fmt: skip
    return states
