"""Rows of matrices at addresses that a GPU's matrix units read at full speed.

In 16 bits that takes rows of a multiple of 8 numbers: others are multiplied by slower kernels. What
is missing is filled up with zeros, which change no product.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

MULTIPLE = 8


def aligned_size(size: int, dtype: torch.dtype) -> int:
    """The next multiple of 8 for numbers of 16 bits; for others any size will do."""
    return -(-size // MULTIPLE) * MULTIPLE if dtype.itemsize == 2 else size


def aligned(matrix: Tensor, dtype: torch.dtype, *, rows: bool = False) -> Tensor:
    """A matrix (n, m) in some precision, with zeros behind its columns and, if asked, its rows."""
    n, m = matrix.shape
    more = aligned_size(n, dtype) - n if rows else 0
    wider = aligned_size(m, dtype) - m
    matrix = matrix.to(dtype)
    return F.pad(matrix, (0, wider, 0, more)) if more or wider else matrix
