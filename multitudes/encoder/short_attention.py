"""Self-attention over packed texts, for texts of up to 128 tokens, on CUDA through Triton.

General attention kernels cut long texts into tiles of 64 or 128 tokens. Titles have 10 to 30, so
most of such a tile is wasted. Here one program does one text and one head, with a single tile
just large enough, reads queries, keys and values where the linear layer left them, and keeps the
attention matrix in registers; the backward pass computes it anew.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

MAX_LENGTH = 128  # beyond this a text's attention matrix does not fit in registers


@triton.jit
def _dropped(weights, seed, program, rows, p, BLOCK: tl.constexpr):
    """Attention weights with a share `p` set to zero and the rest scaled up."""
    cell = program * BLOCK * BLOCK + rows[:, None] * BLOCK + rows[None, :]
    kept = tl.rand(seed, cell) >= p
    return tl.where(kept, weights / (1.0 - p), 0.0)


@triton.jit
def _weights(q, k, rows, n, scale):
    """Softmax of the scaled products; columns past the text's end are zero."""
    products = tl.dot(q, tl.trans(k)) * scale  # (BLOCK, BLOCK) float32
    products = tl.where(rows[None, :] < n, products, -1e30)
    unscaled = tl.exp(products - tl.max(products, 1)[:, None])
    return unscaled / tl.sum(unscaled, 1)[:, None]


@triton.jit
def _clear_filling(out, start, n_tokens, row_size, column, D: tl.constexpr, BLOCK: tl.constexpr):
    """Zeros behind the last text, so that nothing undefined flows on."""
    rows, dims = tl.arange(0, BLOCK), tl.arange(0, D)
    for first in range(start, n_tokens, BLOCK):
        where = (first + rows)[:, None].to(tl.int64) * row_size + column + dims[None, :]
        zeros = tl.zeros((BLOCK, D), out.dtype.element_ty)
        tl.store(out + where, zeros, mask=((first + rows) < n_tokens)[:, None])


@triton.jit
def _forward_kernel(
    qkv,  # IN (n_tokens, 3, H, D)
    out,  # OUT (n_tokens, H, D)
    offsets,  # IN int32 (n_texts + 1,)
    seeds,  # IN int64 (1,)
    n_texts,
    n_tokens,
    scale,
    p,
    H: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    head, text = tl.program_id(0), tl.program_id(1)
    start = tl.load(offsets + text)
    if text == n_texts:
        _clear_filling(out, start, n_tokens, H * D, head * D, D, BLOCK)
    else:
        n = tl.load(offsets + text + 1) - start
        rows, dims = tl.arange(0, BLOCK), tl.arange(0, D)
        inside = (rows < n)[:, None]
        tokens = (start + rows)[:, None].to(tl.int64)
        where = qkv + tokens * (3 * H * D) + head * D + dims[None, :]
        q = tl.load(where, mask=inside, other=0.0)
        k = tl.load(where + H * D, mask=inside, other=0.0)
        v = tl.load(where + 2 * H * D, mask=inside, other=0.0)
        weights = _weights(q, k, rows, n, scale)
        if DROPOUT:
            weights = _dropped(weights, tl.load(seeds), text * H + head, rows, p, BLOCK)
        result = tl.dot(weights.to(v.dtype), v)
        target = out + tokens * (H * D) + head * D + dims[None, :]
        tl.store(target, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _backward_kernel(
    qkv,  # IN (n_tokens, 3, H, D)
    grad_out,  # IN (n_tokens, H, D)
    grad_qkv,  # OUT (n_tokens, 3, H, D)
    offsets,  # IN int32 (n_texts + 1,)
    seeds,  # IN int64 (1,)
    n_texts,
    n_tokens,
    scale,
    p,
    H: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    head, text = tl.program_id(0), tl.program_id(1)
    start = tl.load(offsets + text)
    if text == n_texts:
        for part in tl.static_range(3):
            column = (part * H + head) * D
            _clear_filling(grad_qkv, start, n_tokens, 3 * H * D, column, D, BLOCK)
    else:
        n = tl.load(offsets + text + 1) - start
        rows, dims = tl.arange(0, BLOCK), tl.arange(0, D)
        inside = (rows < n)[:, None]
        tokens = (start + rows)[:, None].to(tl.int64)
        place = tokens * (3 * H * D) + head * D + dims[None, :]
        q = tl.load(qkv + place, mask=inside, other=0.0)
        k = tl.load(qkv + place + H * D, mask=inside, other=0.0)
        v = tl.load(qkv + place + 2 * H * D, mask=inside, other=0.0)
        source = grad_out + tokens * (H * D) + head * D + dims[None, :]
        g = tl.load(source, mask=inside, other=0.0)  # (BLOCK, D)
        weights = _weights(q, k, rows, n, scale)  # (BLOCK, BLOCK)
        grad_weights = tl.dot(g, tl.trans(v))  # (BLOCK, BLOCK)
        used = weights
        if DROPOUT:
            seed = tl.load(seeds)
            used = _dropped(weights, seed, text * H + head, rows, p, BLOCK)
            grad_weights = _dropped(grad_weights, seed, text * H + head, rows, p, BLOCK)
        grad_v = tl.dot(tl.trans(used.to(g.dtype)), g)
        mean = tl.sum(weights * grad_weights, 1)[:, None]
        grad_products = (weights * (grad_weights - mean) * scale).to(q.dtype)
        grad_q = tl.dot(grad_products, k)
        grad_k = tl.dot(tl.trans(grad_products), q)
        kind = grad_qkv.dtype.element_ty
        tl.store(grad_qkv + place, grad_q.to(kind), mask=inside)
        tl.store(grad_qkv + place + H * D, grad_k.to(kind), mask=inside)
        tl.store(grad_qkv + place + 2 * H * D, grad_v.to(kind), mask=inside)


def _launch(kernel: Any, tensors: list[torch.Tensor], max_length: int, p: float) -> None:
    """Run one of the two kernels over all texts and heads; `tensors` are its first arguments."""
    qkv, offsets = tensors[0], tensors[-2]
    n_tokens, _, n_heads, head_size = qkv.shape
    n_texts = offsets.shape[0] - 1
    block = max(16, triton.next_power_of_2(max_length))
    kernel[(n_heads, n_texts + 1)](
        *tensors,
        n_texts,
        n_tokens,
        head_size**-0.5,
        p,
        H=n_heads,
        D=head_size,
        BLOCK=block,
        DROPOUT=p > 0,
        num_warps={16: 1, 32: 1, 64: 4}.get(block, 8),  # more spill registers, fewer too
    )


@torch.library.custom_op("multitudes::short_attention", mutates_args=())
def short_attention(
    qkv: torch.Tensor,
    offsets: torch.Tensor,
    seeds: torch.Tensor,
    max_length: int,
    dropout: float,
) -> torch.Tensor:
    """Self-attention of every text of a packed batch.

    Parameters
    ----------
    qkv : tensor (n_tokens, 3, n_heads, head_size)
        Queries, keys and values, contiguous; `head_size` a power of two from 16.
    offsets : int32 tensor (n_texts + 1,)
    seeds : int64 tensor (1,)
        Of the dropout; drawn on the device, so that the host never waits.
    max_length : int
        Upper bound of a text's tokens, at most `MAX_LENGTH`.
    dropout : float
        Share of the attention weights set to zero.

    Returns
    -------
    tensor (n_tokens, n_heads, head_size)
        Zero for filling behind the last text.
    """
    out = torch.empty_like(qkv[:, 0])
    _launch(_forward_kernel, [qkv, out, offsets, seeds], max_length, dropout)
    return out


@torch.library.custom_op("multitudes::short_attention_backward", mutates_args=())
def _backward(
    qkv: torch.Tensor,
    grad_out: torch.Tensor,
    offsets: torch.Tensor,
    seeds: torch.Tensor,
    max_length: int,
    dropout: float,
) -> torch.Tensor:
    grad_qkv = torch.empty_like(qkv)
    tensors = [qkv, grad_out.contiguous(), grad_qkv, offsets, seeds]
    _launch(_backward_kernel, tensors, max_length, dropout)
    return grad_qkv


@short_attention.register_fake
def _(
    qkv: torch.Tensor, offsets: torch.Tensor, seeds: torch.Tensor, max_length: int, dropout: float
) -> torch.Tensor:
    return torch.empty_like(qkv[:, 0])


@_backward.register_fake
def _(
    qkv: torch.Tensor,
    grad_out: torch.Tensor,
    offsets: torch.Tensor,
    seeds: torch.Tensor,
    max_length: int,
    dropout: float,
) -> torch.Tensor:
    return torch.empty_like(qkv)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    qkv, offsets, seeds, ctx.max_length, ctx.dropout = inputs
    ctx.save_for_backward(qkv, offsets, seeds)


def _differentiate(ctx: Any, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    qkv, offsets, seeds = ctx.saved_tensors
    grad_qkv = _backward(qkv, grad_out, offsets, seeds, ctx.max_length, ctx.dropout)
    return grad_qkv, None, None, None, None


short_attention.register_autograd(_differentiate, setup_context=_remember)
