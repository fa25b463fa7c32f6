"""A step's likeliest symbol and what is fed for it, in place.

One kernel where the device runs Triton, instead of one for the maximum, and one each to add, copy,
look up, drop out and cast.
"""

from __future__ import annotations

import torch
from torch import Tensor

from multitudes.deep.ops.triton_support import runs_triton


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
    if runs_triton(products.device, "choice") and table.dtype == torch.float32:
        # Here, because Triton may not be installed.
        from multitudes.deep.ops.choice import choose_on_device

        choose_on_device(products, bias, table, mask, symbols, fed)
        return
    symbols.copy_((products + bias).max(dim=1).indices)
    fed.copy_(looked_up(table, symbols, mask))


def looked_up(table: Tensor, symbols: Tensor, mask: Tensor | None) -> Tensor:
    """Label embeddings (..., d) of symbols (...), times a mask (..., d)."""
    found = table[symbols]
    return found if mask is None else found * mask
