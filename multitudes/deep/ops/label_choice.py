"""A step's likeliest symbol and what is fed for it, in place.

One kernel, instead of one for the maximum, and one each to add, copy, look up, drop out and cast.
"""

from __future__ import annotations

import torch
from torch import Tensor

from multitudes.deep.ops.switch import jit, runs_kernel, tl, triton

AT_ONCE = 2048


def choose_labels(
    products: Tensor,
    bias: Tensor,
    table: Tensor,
    mask: Tensor | None,
    symbols: Tensor,
    fed: Tensor,
) -> None:
    """The symbol with the highest logit, the smaller id among equals, and its embedding.

    Parameters
    ----------
    products : IN (b, n_symbols)
        In whatever precision; plus `bias` they are logits, in that of `bias`.
    bias : IN (n_symbols,)
    table : IN (>= n_symbols, d)
        Label embeddings.
    mask : IN (b, d), optional
        To multiply them with.
    symbols : OUT int64 (b,)
    fed : OUT (b, d)
    """
    if table.dtype == torch.float32 and runs_kernel("label_choice", products.device):
        _launch(products, bias, table, mask, symbols, fed)
        return
    symbols.copy_((products + bias).max(dim=1).indices)
    fed.copy_(looked_up(table, symbols, mask))


def looked_up(table: Tensor, symbols: Tensor, mask: Tensor | None) -> Tensor:
    """Label embeddings (..., d) of symbols (...), times a mask (..., d)."""
    found = table[symbols]
    return found if mask is None else found * mask


# -------------------------------------------------------------------- kernel


@jit()
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
        some = tl.where(some == some, some, float("-inf"))  # NaN is never chosen
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


def _launch(
    products: Tensor,
    bias: Tensor,
    table: Tensor,
    mask: Tensor | None,
    symbols: Tensor,
    fed: Tensor,
) -> None:
    """Rows may be apart."""
    n, n_symbols = products.shape
    d = table.shape[1]
    _choose_kernel[(n,)](
        products, bias, table, table if mask is None else mask, symbols, fed, products.stride(0),
        0 if mask is None else mask.stride(0), fed.stride(0), n_symbols, d,
        HAS_MASK=mask is not None, AT_ONCE=AT_ONCE, D=triton.next_power_of_2(d), num_warps=4,
    )  # fmt: skip
