"""Rows of matrices at addresses that a GPU's matrix units read at full speed.

In 16 bits that takes rows of a multiple of 8 numbers: others are multiplied by slower kernels. What
is missing is filled up with zeros, which change no product.
"""

from __future__ import annotations

import torch
from torch import Tensor

MULTIPLE = 8


def aligned_size(size: int, dtype: torch.dtype) -> int:
    """The next multiple of 8 for numbers of 16 bits; for others any size will do."""
    return -(-size // MULTIPLE) * MULTIPLE if dtype.itemsize == 2 else size


def aligned(matrix: Tensor, dtype: torch.dtype, *, rows: bool = False) -> Tensor:
    """A matrix (n, m) in some precision, with zeros behind its columns and, if asked, its rows.

    Without a gradient.
    """
    n, m = matrix.shape
    shape = (aligned_size(n, dtype) if rows else n, aligned_size(m, dtype))
    if shape == (n, m):
        return matrix.to(dtype)
    filled = matrix.new_empty(shape, dtype=dtype)
    filled[:n, :m] = matrix  # cast and moved at once
    filled[:n, m:] = 0
    filled[n:] = 0
    return filled
