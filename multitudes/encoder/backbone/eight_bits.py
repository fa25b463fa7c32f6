"""Weights of encoders as 8-bit numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.types import FloatArray

LEVELS = 127  # of an 8-bit number, to either side of zero


def quantized(weight: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """A matrix (n_in, n_out) as 8-bit numbers and the scale (n_out,) of each column."""
    scale = np.abs(weight).max(axis=0) / LEVELS
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    rounded = np.rint(weight / scale).clip(-LEVELS, LEVELS)
    return rounded.astype(np.int8), scale


def evening_factors(norm: Any, weight: npt.NDArray[Any]) -> FloatArray:
    """Factors (d,) for what a norm gives, by which a weight (n_out, d) behind it is to be divided.

    The product is the same, with no channel far out: a norm makes a few channels ten times as large
    as the others, which would then be rounded to a few steps. Half of the difference (in
    logarithms) is moved to the weight.
    """
    sizes = 3 * np.abs(as_array(norm.weight)) + np.abs(
        as_array(norm.bias)
    )  # about as large as they get
    share = np.sqrt(np.maximum(sizes, 1e-3) / np.maximum(np.abs(weight).max(axis=0), 1e-6))
    return np.asarray(share.mean() / share, np.float32)


def as_array(tensor: Any) -> FloatArray:
    """A parameter of torch as float32."""
    found: FloatArray = tensor.detach().float().cpu().numpy()
    return found
