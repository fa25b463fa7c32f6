"""The likeliest symbol of each row and its embedding, on CUDA by Triton; see `label_choice`."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

AT_ONCE = 2048


@triton.jit
def _choose_kernel(
    products,  # IN (b, n_symbols)
    bias,  # IN float32 (n_symbols,)
    table,  # IN float32 (>= n_symbols, d)
    mask,  # IN (b, d)
    symbols,  # OUT int64 (b,)
    fed,  # OUT (b, d)
    products_row,
    mask_row,
    fed_row,
    n_symbols,
    d,
    HAS_MASK: tl.constexpr,
    AT_ONCE: tl.constexpr,
    D: tl.constexpr,
):
    row, column = tl.program_id(0).to(tl.int64), tl.arange(0, AT_ONCE)
    highest = tl.full((), float("-inf"), tl.float32)
    best = tl.zeros((), tl.int32)  # a symbol, even where no logit is a number
    for first in range(0, n_symbols, AT_ONCE):
        symbol = first + column
        at = products + row * products_row + symbol
        some = tl.load(at, mask=symbol < n_symbols, other=float("-inf")).to(tl.float32)
        some += tl.load(bias + symbol, mask=symbol < n_symbols, other=0.0).to(tl.float32)
        some = tl.where(some == some, some, float("-inf"))  # what is no number is never chosen
        value, place = tl.max(some, 0), tl.argmax(some, 0).to(tl.int32)
        best = tl.where(value > highest, first + place, best)
        highest = tl.maximum(value, highest)
    tl.store(symbols + row, best.to(tl.int64))
    lane = tl.arange(0, D)
    label = tl.load(table + best.to(tl.int64) * d + lane, mask=lane < d, other=0.0)
    if HAS_MASK:
        kept = tl.load(mask + row * mask_row + lane, mask=lane < d, other=0.0)
        label = label * kept.to(tl.float32)
    tl.store(fed + row * fed_row + lane, label.to(fed.dtype.element_ty), mask=lane < d)


def choose_on_device(
    products: Tensor,
    bias: Tensor,
    table: Tensor,
    mask: Tensor | None,
    symbols: Tensor,
    fed: Tensor,
) -> None:
    """See `multitudes.seq2set.network.label_choice.choose_labels`; rows may be apart."""
    n, n_symbols = products.shape
    d = table.shape[1]
    _choose_kernel[(n,)](
        products,
        bias,
        table,
        table if mask is None else mask,
        symbols,
        fed,
        products.stride(0),
        0 if mask is None else mask.stride(0),
        fed.stride(0),
        n_symbols,
        d,
        HAS_MASK=mask is not None,
        AT_ONCE=AT_ONCE,
        D=triton.next_power_of_2(d),
        num_warps=4,
    )
