"""What `label_softmax` does with a block of logits, each in one pass over them.

One kernel each where the device runs Triton (`multitudes.deep.ops.softmax`), a dozen tensor
operations elsewhere. r is the number of rows, c that of labels in the block. Logits are products,
in whatever precision these were made, plus `bias`; all else is float32 at least.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from multitudes.deep.ops.triton_support import runs_triton


class Products(NamedTuple):
    """A block of logits.

    Parameters
    ----------
    products : (r, c)
    bias : (c,), optional
    places : int64 (r, k)
        Columns asked for; those outside of 0 to c - 1 are in no or another block.
    """

    products: Tensor
    bias: Tensor | None
    places: Tensor

    @property
    def inside(self) -> Tensor:
        """Which places are in this block: bool (r, k)."""
        return (self.places >= 0) & (self.places < self.products.shape[1])

    @property
    def columns(self) -> Tensor:
        """The places, int64 (r, k); any column for those that are not inside."""
        return self.places.clamp(0, self.products.shape[1] - 1)


class Running(NamedTuple):
    """A softmax over the blocks so far.

    Parameters
    ----------
    highest, total : (r,)
        The highest logit, and the sum of exponentials relative to it.
    asked : (r, k)
        Logits of the labels asked for.
    """

    highest: Tensor
    total: Tensor
    asked: Tensor


def absorb(block: Products, running: Running, unscaled: Tensor | None) -> Tensor:
    """Add a block to what is running, IN/OUT.

    `unscaled` OUT (r, c), if wanted: exponentials relative to the highest logit now. Gives the
    factor (r,) that brings older ones there.
    """
    if _on_device(block, running.total):
        # Here, because Triton may not be installed.
        from multitudes.deep.ops.softmax import absorb_on_device

        return absorb_on_device(block, running, unscaled)
    logits = _logits(block, running.total.dtype)  # (r, c)
    found = logits.gather(1, block.columns)  # (r, k)
    running.asked.copy_(torch.where(block.inside, found, running.asked))
    before = running.highest.clone()  # (r,)
    running.highest.copy_(torch.maximum(before, logits.amax(dim=1)))
    shrink = (before - running.highest).exp_()  # (r,)
    exponentials = logits.sub_(running.highest.unsqueeze(1)).exp_()  # (r, c)
    running.total.mul_(shrink).add_(exponentials.sum(dim=1))
    if unscaled is not None:
        unscaled.copy_(exponentials)
    return shrink


def spread(
    block: Products,
    normalizer: Tensor,
    shift: Tensor,
    along: Tensor | None,
    to_asked: Tensor,
    out: Tensor,
) -> None:
    """The gradient of a block's logits.

    Parameters
    ----------
    block : Products
    normalizer : IN (r,)
        The logarithm of all exponentials' sum.
    shift : IN (r,)
        Probabilities are multiplied with ``shift + along``.
    along : IN (r, c), optional
    to_asked : IN (r, k)
        What is added at the places asked for.
    out : OUT (r, c)
        May be ``block.products`` or `along`.
    """
    if _on_device(block, normalizer):
        from multitudes.deep.ops.softmax import spread_on_device

        spread_on_device(block, normalizer, shift, along, to_asked, out)
        return
    logits = _logits(block, normalizer.dtype)  # (r, c)
    gradient = logits.sub_(normalizer.unsqueeze(1)).exp_()  # (r, c): probabilities
    gradient *= shift.unsqueeze(1) if along is None else along + shift.unsqueeze(1)
    gradient.scatter_add_(1, block.columns, torch.where(block.inside, to_asked, 0.0))
    out.copy_(gradient)


def _logits(block: Products, dtype: torch.dtype) -> Tensor:
    logits = block.products.to(dtype, copy=True)  # (r, c)
    return logits if block.bias is None else logits.add_(block.bias)


def _on_device(block: Products, like: Tensor) -> bool:
    return runs_triton(block.products.device, "softmax") and like.dtype == torch.float32
