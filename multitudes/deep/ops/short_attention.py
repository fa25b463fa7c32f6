"""Self-attention within each text of a packed batch; a kernel for texts of up to 128 tokens.

General attention kernels cut long texts into tiles of 64 or 128 tokens. Titles have 10 to 30, so
most of such a tile is wasted. In the kernel one program does one text and one head, with a single
tile just large enough, reads queries, keys and values where the linear layer left them, and keeps
the attention matrix in registers; the backward pass computes it again. Texts of a batch are of all
lengths, a title's and a page's, so each size of tile is a launch of its own. The plain form pads
the texts and calls torch's attention.

Weights to drop are chosen by a scrambled counter, cheap enough to be drawn twice: `tl.rand` takes a
hundred operations a number, more than the attention it drops weights from.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from multitudes.deep.ops.switch import jit, runs_kernel, tl
from multitudes.deep.texts.tokens import TILES, PackedTokens

HEAD_SIZES = (16, 32, 64, 128)
WARPS = {16: 1, 32: 1, 64: 4, 128: 8}  # fewer spill registers, more leave them idle (on an H100)


def text_attention(
    qkv: Tensor,
    packed: PackedTokens,
    *,
    seed: Tensor,
    dropout: float,
    bias: Tensor | None = None,
    window: int = 0,
) -> Tensor:
    """Self-attention (n_tokens, n_heads, head_size) of every text of a packed batch.

    Parameters
    ----------
    qkv : (n_tokens, 3, n_heads, head_size)
        Queries, keys and values, contiguous.
    packed : PackedTokens
        What comes out for filling behind the last text means nothing.
    seed : int64 (1,)
        Seeds the kernel's dropout; drawn on the device, so that the host never waits.
    dropout : float
        Share of the attention weights set to zero; 0 outside training.
    bias : float32 (n_heads, length, length), optional
        Added to the scaled products, by the places of the two tokens; `length` is at least
        ``packed.max_length``.
    window : int
        How far to either side a token sees; 0: to the ends of its text.
    """
    window = 0 if packed.max_length <= window else window
    if takes_kernel(qkv, packed.max_length):
        counts = list(packed.tile_counts)
        mixed: Tensor = short_attention(
            qkv, packed.offsets, packed.by_length, seed, bias, counts, dropout, window
        )
        return mixed
    if takes_flash(qkv, bias, dropout):
        return flash_attention(qkv, packed, window=window)
    return padded_attention(qkv, packed, dropout=dropout, bias=bias, window=window)


def takes_kernel(qkv: Tensor, max_length: int) -> bool:
    """Whether texts of up to `max_length` tokens take the kernel."""
    fits = qkv.shape[3] in HEAD_SIZES and max_length <= TILES[-1] and qkv.dtype != torch.float64
    return fits and runs_kernel("short_attention", qkv.device)


def takes_flash(qkv: Tensor, bias: Tensor | None, dropout: float) -> bool:
    """Whether torch's attention over texts of varying length serves: it neither adds nor drops."""
    fits = qkv.dtype in (torch.bfloat16, torch.float16) and qkv.shape[3] % 8 == 0
    plain = bias is None and dropout == 0 and qkv.shape[3] <= 256
    return fits and plain and runs_kernel("short_attention", qkv.device) and _varlen() is not None


@functools.cache
def _varlen() -> Any:
    """Torch's attention over texts of varying length; None if it is missing or without windows."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    has_windows = "window_size" in inspect.signature(varlen_attn).parameters
    on_gpu = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
    return varlen_attn if has_windows and on_gpu else None


def flash_attention(qkv: Tensor, packed: PackedTokens, *, window: int = 0) -> Tensor:
    """For texts too long for the kernel: cut into tiles by torch, and not padded."""
    real = (packed.texts < len(packed))[:, None, None, None]  # (n_tokens, 1, 1, 1)
    # Filling belongs to no text: what comes out for it is undefined, and so is its gradient.
    q, k, v = torch.where(real, qkv, 0.0).unbind(1)  # (n_tokens, n_heads, head_size) each
    length, reach = packed.max_length, window or -1
    mixed: Tensor = _varlen()(
        q, k, v, packed.offsets, packed.offsets, length, length, window_size=(reach, reach)
    )
    return torch.where(real[:, 0], mixed, 0.0)


def padded_attention(
    qkv: Tensor,
    packed: PackedTokens,
    *,
    dropout: float,
    bias: Tensor | None = None,
    window: int = 0,
) -> Tensor:
    """The plain form: texts are padded for the time it takes."""
    n_texts, length = len(packed), max(packed.max_length, 1)
    texts, positions = packed.texts, packed.positions
    # Filling is a text of its own, the last; all its tokens land on one place, and mean nothing.
    padded = qkv.new_zeros((n_texts + 1, length, *qkv.shape[1:]))
    padded[texts, positions] = qkv
    real = torch.zeros((n_texts + 1, length), dtype=torch.bool, device=qkv.device)
    real[texts, positions] = True
    seen = real[:, None, None, :]  # (n_texts + 1, 1, 1, length)
    if window:
        places = torch.arange(length, device=qkv.device)
        seen = seen & ((places[:, None] - places).abs() <= window)
    if bias is not None:
        bias = bias[:, :length, :length].to(qkv.dtype)
        seen = torch.where(seen, bias, float("-inf"))  # (n_texts + 1, n_heads, length, length)
    q, k, v = padded.permute(2, 0, 3, 1, 4)  # (n_texts + 1, n_heads, length, head_size) each
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, dropout_p=dropout)
    return mixed.transpose(1, 2)[texts, positions]


@jit()
def _mixed(x):
    """Scrambled bits of uint32 numbers: neighbors come out unrelated."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@jit()
def key_of(random_state, stream):
    """A key () for each number of a stream, from a seed: its own draw."""
    return _mixed(random_state.to(tl.uint32) + stream.to(tl.uint32) * 0x9E3779B1)


@jit()
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


@jit()
def _cells(bias, side, head, rows):
    """Where one head's biases (BLOCK, BLOCK) are."""
    return bias + (head * side + rows[:, None]) * side + rows[None, :]


@jit()
def _weights(q, k, rows, n, scale, bias, side, head, BIAS: tl.constexpr, WINDOW: tl.constexpr):
    """Softmax of the scaled products; columns past the text's end or out of sight are zero."""
    products = tl.dot(q, tl.trans(k)) * scale  # (BLOCK, BLOCK) float32
    seen = rows[None, :] < n
    if BIAS:
        both = (rows[:, None] < n) & seen
        products += tl.load(_cells(bias, side, head, rows), mask=both, other=0.0)
    if WINDOW > 0:
        far = rows[:, None] - rows[None, :]
        seen = seen & (far <= WINDOW) & (far >= -WINDOW)
    products = tl.where(seen, products, -1e30)
    unscaled = tl.exp(products - tl.max(products, 1)[:, None])
    return unscaled * (1.0 / tl.sum(unscaled, 1))[:, None]


@jit()
def _clear_filling(out, start, n_tokens, row_size, column, D: tl.constexpr, BLOCK: tl.constexpr):
    """Zeros behind the last text, so that nothing undefined flows on."""
    rows, dims = tl.arange(0, BLOCK), tl.arange(0, D)
    for first in range(start, n_tokens, BLOCK):
        where = (first + rows)[:, None].to(tl.int64) * row_size + column + dims[None, :]
        zeros = tl.zeros((BLOCK, D), out.dtype.element_ty)
        tl.store(out + where, zeros, mask=((first + rows) < n_tokens)[:, None])


# Sizes that change from batch to batch: a kernel must not be compiled again for each of them.
VARYING = ("first", "n_own", "n_texts", "n_tokens", "side")


@jit(do_not_specialize=VARYING)
def _forward_kernel(
    qkv,  # IN (n_tokens, 3, H, D)
    out,  # OUT (n_tokens, H, D)
    offsets,  # IN int32 (n_texts + 1,)
    by_length,  # IN int32 (n_texts,)
    seed,  # IN int64 (1,)
    bias,  # IN float32 (H, side, side), read if BIAS
    first,  # in by_length, of the texts of this tile
    n_own,  # texts of this tile
    n_texts,
    n_tokens,
    side,
    scale,
    p,
    H: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    DROPOUT: tl.constexpr,
    BIAS: tl.constexpr,
    WINDOW: tl.constexpr,
):
    head, number = tl.program_id(0), tl.program_id(1)
    if number == n_own:
        start = tl.load(offsets + n_texts)
        _clear_filling(out, start, n_tokens, H * D, head * D, D, BLOCK)
    else:
        text = tl.load(by_length + first + number)
        start = tl.load(offsets + text)
        n = tl.load(offsets + text + 1) - start
        rows, dims = tl.arange(0, BLOCK), tl.arange(0, D)
        inside = (rows < n)[:, None]
        tokens = (start + rows)[:, None].to(tl.int64)
        where = qkv + tokens * (3 * H * D) + head * D + dims[None, :]
        q = tl.load(where, mask=inside, other=0.0)
        k = tl.load(where + H * D, mask=inside, other=0.0)
        v = tl.load(where + 2 * H * D, mask=inside, other=0.0)
        weights = _weights(q, k, rows, n, scale, bias, side, head, BIAS, WINDOW)
        if DROPOUT:
            cell = rows[:, None] * BLOCK + rows[None, :]
            stays = kept(key_of(tl.load(seed), text * H + head), cell, p)
            weights = tl.where(stays, weights * (1.0 / (1.0 - p)), 0.0)
        result = tl.dot(weights.to(v.dtype), v)
        target = out + tokens * (H * D) + head * D + dims[None, :]
        tl.store(target, result.to(out.dtype.element_ty), mask=inside)


@jit(do_not_specialize=VARYING)
def _backward_kernel(
    qkv,  # IN (n_tokens, 3, H, D)
    grad_out,  # IN (n_tokens, H, D)
    grad_qkv,  # OUT (n_tokens, 3, H, D)
    offsets,  # IN int32 (n_texts + 1,)
    by_length,  # IN int32 (n_texts,)
    seed,  # IN int64 (1,)
    bias,  # IN float32 (H, side, side), read if BIAS
    grad_bias,  # OUT float32 (H, side, side), added to if BIAS
    first,  # in by_length, of the texts of this tile
    n_own,  # texts of this tile
    n_texts,
    n_tokens,
    side,
    scale,
    p,
    H: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    DROPOUT: tl.constexpr,
    BIAS: tl.constexpr,
    WINDOW: tl.constexpr,
):
    head, number = tl.program_id(0), tl.program_id(1)
    if number == n_own:
        start = tl.load(offsets + n_texts)
        for part in tl.static_range(3):
            column = (part * H + head) * D
            _clear_filling(grad_qkv, start, n_tokens, 3 * H * D, column, D, BLOCK)
    else:
        text = tl.load(by_length + first + number)
        start = tl.load(offsets + text)
        n = tl.load(offsets + text + 1) - start
        rows, dims = tl.arange(0, BLOCK), tl.arange(0, D)
        inside = (rows < n)[:, None]
        tokens = (start + rows)[:, None].to(tl.int64)
        where = tokens * (3 * H * D) + head * D + dims[None, :]
        q = tl.load(qkv + where, mask=inside, other=0.0)
        k = tl.load(qkv + where + H * D, mask=inside, other=0.0)
        v = tl.load(qkv + where + 2 * H * D, mask=inside, other=0.0)
        source = grad_out + tokens * (H * D) + head * D + dims[None, :]
        g = tl.load(source, mask=inside, other=0.0)  # (BLOCK, D)
        weights = _weights(q, k, rows, n, scale, bias, side, head, BIAS, WINDOW)  # (BLOCK, BLOCK)
        grad_weights = tl.dot(g, tl.trans(v))  # (BLOCK, BLOCK)
        used = weights
        if DROPOUT:
            cell = rows[:, None] * BLOCK + rows[None, :]
            stays = kept(key_of(tl.load(seed), text * H + head), cell, p)
            used = tl.where(stays, weights * (1.0 / (1.0 - p)), 0.0)
            grad_weights = tl.where(stays, grad_weights * (1.0 / (1.0 - p)), 0.0)
        grad_v = tl.dot(tl.trans(used.to(g.dtype)), g)
        mean = tl.sum(weights * grad_weights, 1)[:, None]
        grad_products = weights * (grad_weights - mean)  # (BLOCK, BLOCK)
        if BIAS:
            # Of all texts: their sum differs in its last bits from run to run.
            both = inside & (rows < n)[None, :]
            tl.atomic_add(_cells(grad_bias, side, head, rows), grad_products, mask=both)
        grad_products = (grad_products * scale).to(q.dtype)
        grad_q = tl.dot(grad_products, k)
        grad_k = tl.dot(tl.trans(grad_products), q)
        kind = grad_qkv.dtype.element_ty
        tl.store(grad_qkv + where, grad_q.to(kind), mask=inside)
        tl.store(grad_qkv + where + H * D, grad_k.to(kind), mask=inside)
        tl.store(grad_qkv + where + 2 * H * D, grad_v.to(kind), mask=inside)


def _launch(
    kernel: Any,
    tensors: list[Tensor],
    biases: list[Tensor],
    tile_counts: Sequence[int],
    dropout: float,
    window: int,
) -> None:
    """Run one of the two kernels over all texts and heads; `tensors` are its first arguments.

    `biases` come next, of length 0 where there are none.
    """
    qkv, offsets = tensors[0], tensors[-3]
    n_tokens, _, n_heads, head_size = qkv.shape
    side = biases[0].shape[-1]
    for block, first, n_own, is_last in _tiles(tile_counts):
        kernel[(n_heads, n_own + is_last)](
            *tensors, *biases, first, n_own, offsets.shape[0] - 1, n_tokens, side,
            head_size**-0.5, dropout, H=n_heads, D=head_size, BLOCK=block, DROPOUT=dropout > 0,
            BIAS=side > 0, WINDOW=window, num_warps=WARPS[block],
        )  # fmt: skip


def _tiles(counts: Sequence[int]) -> Iterator[tuple[int, int, int, bool]]:
    """Each tile that has texts: its size, its first text, how many, whether it is the last one.

    The last one clears the filling too; without any text the smallest does.
    """
    used = [i for i, n in enumerate(counts) if n] or [0]
    for i in used:
        yield TILES[i], sum(counts[:i]), counts[i], i == used[-1]


@torch.library.custom_op("multitudes::short_attention", mutates_args=())
def short_attention(
    qkv: torch.Tensor,
    offsets: torch.Tensor,
    by_length: torch.Tensor,
    seed: torch.Tensor,
    bias: torch.Tensor | None,
    tile_counts: list[int],
    dropout: float,
    window: int,
) -> torch.Tensor:
    """Self-attention of every text of a packed batch, as an operation torch can compile around.

    Parameters
    ----------
    qkv : tensor (n_tokens, 3, n_heads, head_size)
        Queries, keys and values, contiguous; `head_size` a power of two from 16.
    offsets : int32 tensor (n_texts + 1,)
    by_length : int32 tensor (n_texts,)
    seed : int64 tensor (1,)
        Seeds the dropout; drawn on the device, so that the host never waits.
    bias : float32 tensor (n_heads, length, length), optional
        Added to the scaled products.
    tile_counts : list of int
        See `PackedTokens`.
    dropout : float
        Share of the attention weights set to zero.
    window : int
        How far to either side a token sees; 0: to the ends of its text.

    Returns
    -------
    tensor (n_tokens, n_heads, head_size)
        Zero for filling behind the last text.
    """
    out = torch.empty_like(qkv[:, 0])
    tensors = [qkv, out, offsets, by_length, seed]
    _launch(_forward_kernel, tensors, [_biases(bias, qkv)], tile_counts, dropout, window)
    return out


def attention_forward(qkv: Tensor, packed: PackedTokens, *, seed: Tensor, dropout: float) -> Tensor:
    """What `short_attention` does, for those who write out their gradient themselves."""
    out = torch.empty_like(qkv[:, 0])
    tensors = [qkv, out, packed.offsets, packed.by_length, seed]
    _launch(_forward_kernel, tensors, [_biases(None, qkv)], packed.tile_counts, dropout, 0)
    return out


def attention_backward(
    qkv: Tensor, grad_out: Tensor, packed: PackedTokens, *, seed: Tensor, dropout: float
) -> Tensor:
    """The gradient of `qkv`, (n_tokens, 3, n_heads, head_size), given that of the output."""
    grad_qkv, none = torch.empty_like(qkv), _biases(None, qkv)
    tensors = [qkv, grad_out, grad_qkv, packed.offsets, packed.by_length, seed]
    _launch(_backward_kernel, tensors, [none, none], packed.tile_counts, dropout, 0)
    return grad_qkv


def _biases(bias: Tensor | None, qkv: Tensor) -> Tensor:
    """The biases as a kernel takes them; none are of length 0."""
    if bias is None:
        return qkv.new_empty((0, 0, 0), dtype=torch.float32)
    return bias.float().contiguous()


@torch.library.custom_op("multitudes::short_attention_backward", mutates_args=())
def _backward(
    qkv: torch.Tensor,
    grad_out: torch.Tensor,
    offsets: torch.Tensor,
    by_length: torch.Tensor,
    seed: torch.Tensor,
    bias: torch.Tensor | None,
    tile_counts: list[int],
    dropout: float,
    window: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    grad_qkv, biases = torch.empty_like(qkv), _biases(bias, qkv)
    grad_biases = torch.zeros_like(biases)
    tensors = [qkv, grad_out.contiguous(), grad_qkv, offsets, by_length, seed]
    _launch(_backward_kernel, tensors, [biases, grad_biases], tile_counts, dropout, window)
    return grad_qkv, grad_biases


@short_attention.register_fake
def _(
    qkv: torch.Tensor,
    offsets: torch.Tensor,
    by_length: torch.Tensor,
    seed: torch.Tensor,
    bias: torch.Tensor | None,
    tile_counts: list[int],
    dropout: float,
    window: int,
) -> torch.Tensor:
    return torch.empty_like(qkv[:, 0])


@_backward.register_fake
def _(
    qkv: torch.Tensor,
    grad_out: torch.Tensor,
    offsets: torch.Tensor,
    by_length: torch.Tensor,
    seed: torch.Tensor,
    bias: torch.Tensor | None,
    tile_counts: list[int],
    dropout: float,
    window: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(qkv), torch.empty_like(_biases(bias, qkv))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    *tensors, ctx.tile_counts, ctx.dropout, ctx.window = inputs
    ctx.save_for_backward(*tensors)


def _differentiate(ctx: Any, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    qkv, *others, bias = ctx.saved_tensors
    grad_qkv, grad_bias = _backward(
        qkv, grad_out, *others, bias, ctx.tile_counts, ctx.dropout, ctx.window
    )
    wanted = None if bias is None else grad_bias.to(bias.dtype)
    return grad_qkv, None, None, None, wanted, None, None, None


short_attention.register_autograd(_differentiate, setup_context=_remember)
